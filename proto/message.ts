// What travels, as typed values: one class of value per opcode. PROTOCOL.md gives the bytes; codec.ts and request.ts/reply.ts
// translate. A typed request is structurally sound (types, lengths, ranges of integers); whether it makes sense is for the role.
import type { AqErrorReply, AqReply, AqRequest } from './aq/message.ts';
import type { OP } from './codes.ts';
import type { Statistics } from './message-statistics.ts';

/** A queue as the client names it: by names, or by a handle that BIND gave it on this connection. */
export type QueueRef = number | QueueNames;
export interface QueueNames {
  readonly qspace: string;
  readonly qname: string;
}

/**
 * TPQCTL as an input. `flags` says which members count; a member whose flag is off holds its zero value and is never read
 * [spec 9.1: clients do not clear their structure].
 */
export interface QctlIn {
  flags: number;
  /** Seconds: since the epoch with TPQTIME_ABS, from completion of the call with TPQTIME_REL. */
  deqTime: number;
  priority: number;
  /** 32 bytes, selected by TPQBEFOREMSGID (enqueue) or TPQGETBYMSGID (dequeue). */
  msgid: Uint8Array | null;
  /** 32 bytes, selected by TPQCORRID (enqueue) or TPQGETBYCORRID (dequeue). */
  corrid: Uint8Array | null;
  replyqueue: string;
  failurequeue: string;
  urcode: number;
  deliveryQos: number;
  replyQos: number;
  expTime: number;
}

/** TPQCTL as dequeue returns it: `flags` by spec 1.4; cltid, urcode and appkey always. */
export interface QctlOut {
  flags: number;
  priority: number;
  msgid: Uint8Array | null;
  corrid: Uint8Array | null;
  replyqueue: string;
  failurequeue: string;
  /** 16 opaque bytes: the CLIENTID of whoever enqueued. */
  cltid: Uint8Array;
  urcode: number;
  appkey: number;
  deliveryQos: number;
  replyQos: number;
}

/** A typed buffer. `type` is '' and `data` null when there is no data part. */
export interface TypedData {
  type: string;
  subtype: string;
  data: Uint8Array | null;
}

export interface Hello {
  op: typeof OP.HELLO;
  id: number;
  versionMin: number;
  versionMax: number;
  /** The TPINIT members [spec 3.1]. */
  usrname: string;
  cltname: string;
  passwd: string;
  grpname: string;
  flags: number;
  data: Uint8Array | null;
  /** What the client is, for logs, e.g. "@tmqueue/client 0.1.0". */
  product: string;
}
export interface Goodbye {
  op: typeof OP.GOODBYE;
  id: number;
}
export interface Enqueue {
  op: typeof OP.ENQUEUE;
  id: number;
  queue: QueueRef;
  ctl: QctlIn | null;
  body: TypedData;
  flags: number;
  /** The transaction that BEGIN named on this connection; 0: none. */
  tx: number;
}
export interface Dequeue {
  op: typeof OP.DEQUEUE;
  id: number;
  queue: QueueRef;
  ctl: QctlIn | null;
  /** With TPNOCHANGE: the buffer type and subtype that alone are acceptable; otherwise ''. */
  type: string;
  subtype: string;
  flags: number;
  tx: number;
  /** Milliseconds this caller will wait at most with TPQWAIT; 0: as long as the daemon allows. */
  waitMs: number;
}
export interface Begin {
  op: typeof OP.BEGIN;
  id: number;
  /** Seconds; 0 = the largest the system supports [spec 3.3]. */
  timeoutS: number;
}
export interface Commit {
  op: typeof OP.COMMIT;
  id: number;
  tx: number;
}
export interface Abort {
  op: typeof OP.ABORT;
  id: number;
  tx: number;
}
/** COMMIT of a caller that said tpscmt before it [spec 3.3]. */
export interface CommitAt extends Omit<Commit, 'op'> {
  op: typeof OP.COMMITAT;
  /** One of TP_CMT. */
  when: number;
}
/** tpsuspend [spec 3.3]. */
export interface Suspend {
  op: typeof OP.SUSPEND;
  id: number;
  tx: number;
}
/** tpresume [spec 3.3]. */
export interface Resume {
  op: typeof OP.RESUME;
  id: number;
  /** 16 bytes: what SUSPEND answered. */
  tranid: Uint8Array;
}
/** What became of a transaction that this or another client began. */
export interface AskOutcome {
  op: typeof OP.OUTCOME;
  id: number;
  /** 12 bytes: what BEGIN answered. */
  transaction: Uint8Array;
}
export interface Cancel {
  op: typeof OP.CANCEL;
  id: number;
  /** The request id of the parked dequeue or outstanding call. */
  target: number;
}
export interface Call {
  op: typeof OP.CALL;
  id: number;
  service: string;
  body: TypedData;
  flags: number;
  tx: number;
  /** Milliseconds until TPETIME; 0: BLOCKTIME of the daemon's configuration. */
  timeoutMs: number;
}
/** CALL of a caller that said tpsprio before it [spec 3.4]. */
export interface PrioCall extends Omit<Call, 'op'> {
  op: typeof OP.PRIOCALL;
  /** The priority itself, or what is added to the service's own. */
  priority: number;
  absolute: boolean;
}
export interface Advertise {
  op: typeof OP.ADVERTISE;
  id: number;
  service: string;
  /** Requests of this service that this connection takes at the same time, 1..1024. */
  concurrency: number;
}
export interface Unadvertise {
  op: typeof OP.UNADVERTISE;
  id: number;
  service: string;
}
/** tpreturn. `id` is the id of the REQUEST it answers; it has no reply of its own. */
export interface Return {
  op: typeof OP.RETURN;
  id: number;
  rval: number;
  rcode: number;
  body: TypedData;
}
/** tpforward. `id` is the id of the REQUEST that it passes on; it has no reply of its own. */
export interface Forward {
  op: typeof OP.FORWARD;
  id: number;
  service: string;
  body: TypedData;
}
/** tpnotify [spec 3.6]. */
export interface Notify {
  op: typeof OP.NOTIFY;
  id: number;
  cltid: Uint8Array;
  flags: number;
  body: TypedData;
}
/** tpbroadcast [spec 3.6]; null matches all. */
export interface Broadcast {
  op: typeof OP.BROADCAST;
  id: number;
  lmid: string | null;
  usrname: string | null;
  cltname: string | null;
  flags: number;
  body: TypedData;
}
/** `id` is the id of the UNSOLICITED frame; it has no reply of its own. */
export interface Ack {
  op: typeof OP.ACK;
  id: number;
  /** Whether a handler ran. */
  handled: boolean;
}
export interface Stat {
  op: typeof OP.STAT;
  id: number;
  /** Only this queue space (alias); '': everything. */
  qspace: string;
}
export interface Ping {
  op: typeof OP.PING;
  id: number;
}
export interface Bind {
  op: typeof OP.BIND;
  id: number;
  qspace: string;
  qname: string;
}

/** What a named member of ADMIN may hold. */
export type MemberValue = boolean | number | string | readonly string[];
/** Members by name; which ones there are depends on the verb (admin.ts). */
export type Members = Readonly<Record<string, MemberValue>>;
export interface Admin {
  op: typeof OP.ADMIN;
  id: number;
  /** One of ADMIN, or of a later release. */
  verb: number;
  /** An alias under which the queue space is served, or its own name. */
  qspace: string;
  /** '' when the verb is about no single queue. */
  qname: string;
  members: Members;
}

export type Request =
  | Hello
  | Goodbye
  | Enqueue
  | Dequeue
  | Begin
  | Commit
  | Abort
  | Cancel
  | Call
  | Advertise
  | Unadvertise
  | Return
  | Stat
  | Ping
  | Bind
  | Admin
  | PrioCall
  | Forward
  | Notify
  | Broadcast
  | Ack
  | Suspend
  | Resume
  | CommitAt
  | AskOutcome
  | AqRequest;

/**
 * What decodeRequest and decodeReply give for bytes that are not a message of this protocol: a value, never a throw. `op` 0 is no
 * opcode, so that a switch over `op` covers it.
 */
export interface Malformed {
  op: 0;
  /** The request id when it could be read, else 0. */
  id: number;
  /** What to answer: TPEPROTO, or TPERELEASE to a HELLO of versions that this side does not speak. */
  tperrno: number;
  /** Whether the connection ends after the answer; false only for an unknown opcode. */
  close: boolean;
  /** In words, for the ERROR's text and the log. */
  reason: string;
}

/** `op` of a reply is the opcode of the request it answers (the wire adds REPLY_BIT), or a pushed opcode, or OP.ERROR. */
export interface HelloReply {
  op: typeof OP.HELLO;
  id: number;
  version: number;
  cltid: Uint8Array;
  /** A side that has sent nothing for this long sends a PING; one that has heard nothing for three times as long closes. */
  heartbeatMs: number;
  frameBytesMax: number;
  inFlightMax: number;
  /** BLOCKTIME in milliseconds, for the client's information. */
  blockTimeMs: number;
  product: string;
}
export interface EnqueueReply {
  op: typeof OP.ENQUEUE;
  id: number;
  /** 32 bytes when TPQMSGID was set, else null. */
  msgid: Uint8Array | null;
}
export interface DequeueReply {
  op: typeof OP.DEQUEUE;
  id: number;
  ctl: QctlOut;
  body: TypedData;
}
export interface BeginReply {
  op: typeof OP.BEGIN;
  id: number;
  tx: number;
  /** 12 bytes: its id for ever. */
  transaction: Uint8Array;
}
export interface OutcomeReply {
  op: typeof OP.OUTCOME;
  id: number;
  /** One of OUTCOME. */
  outcome: number;
}
export interface SuspendReply {
  op: typeof OP.SUSPEND;
  id: number;
  /** 16 bytes, for one RESUME. */
  tranid: Uint8Array;
}
export interface ResumeReply {
  op: typeof OP.RESUME;
  id: number;
  tx: number;
  /** Milliseconds until the daemon rolls it back; 0: no limit. */
  timeoutMs: number;
  transaction: Uint8Array;
}
export interface CancelReply {
  op: typeof OP.CANCEL;
  id: number;
  /** Whether the target was still waiting; it has then been answered with TPGOTSIG before this reply. */
  found: boolean;
}
export interface CallReply {
  op: typeof OP.CALL | typeof OP.PRIOCALL;
  id: number;
  /** RVAL.TPSUCCESS or RVAL.TPFAIL (then the call failed with TPESVCFAIL and the data is valid). */
  rval: number;
  rcode: number;
  body: TypedData;
}
export interface BindReply {
  op: typeof OP.BIND;
  id: number;
  handle: number;
}
export interface StatReply {
  op: typeof OP.STAT;
  id: number;
  stat: Statistics;
}
export interface AdminReply {
  op: typeof OP.ADMIN;
  id: number;
  /** What is now in effect, or what was done. */
  members: Members;
  /** The page of a list; [] for other verbs. */
  items: readonly Members[];
}
/** Positive replies that carry nothing. PING with id 0 is the daemon's own heartbeat, which wants no answer. */
export interface DoneReply {
  op:
    | typeof OP.GOODBYE
    | typeof OP.COMMIT
    | typeof OP.COMMITAT
    | typeof OP.ABORT
    | typeof OP.ADVERTISE
    | typeof OP.UNADVERTISE
    | typeof OP.NOTIFY
    | typeof OP.BROADCAST
    | typeof OP.PING;
  id: number;
}
export interface ErrorReply {
  op: typeof OP.ERROR;
  id: number;
  tperrno: number;
  /** QME value when tperrno is TPEDIAGNOSTIC, else 0. */
  diagnostic: number;
  message: string;
}
/** Pushed: run a service [TPSVCINFO, spec 3.5]. Answer with RETURN of the same id. */
export interface ServiceRequest {
  op: typeof OP.REQUEST;
  id: number;
  service: string;
  body: TypedData;
  flags: number;
  cltid: Uint8Array;
  appkey: number;
  /** Milliseconds that the caller will still wait; 0: no limit. */
  timeoutMs: number;
}
export interface Closing {
  op: typeof OP.CLOSING;
  id: 0;
  message: string;
}

/** Pushed: a message of tpnotify or tpbroadcast. With an id other than 0 an ACK of the same id is wanted. */
export interface Unsolicited {
  op: typeof OP.UNSOLICITED;
  id: number;
  /** How this client takes them: one of TPU_SIG, TPU_DIP, TPU_THREAD. */
  mode: number;
  body: TypedData;
}

export type Reply =
  | HelloReply
  | EnqueueReply
  | DequeueReply
  | BeginReply
  | SuspendReply
  | ResumeReply
  | OutcomeReply
  | CancelReply
  | CallReply
  | BindReply
  | StatReply
  | AdminReply
  | DoneReply
  | ErrorReply
  | AqReply
  | AqErrorReply
  | ServiceRequest
  | Unsolicited
  | Closing;
