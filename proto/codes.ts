// Every number of the interface, one table each: tperrno, QME* diagnostics, TPQCTL bits, call flags, opcodes, limits.
// A number is never changed and never reused. This file imports nothing; everyone may import it.

/** tperrno values [spec 2.8]. */
export const TPERRNO = {
  TPMINVAL: 0,
  TPEABORT: 1,
  TPEBADDESC: 2,
  TPEBLOCK: 3,
  TPEINVAL: 4,
  TPELIMIT: 5,
  TPENOENT: 6,
  TPEOS: 7,
  TPEPERM: 8,
  TPEPROTO: 9,
  TPESVCERR: 10,
  TPESVCFAIL: 11,
  TPESYSTEM: 12,
  TPETIME: 13,
  TPETRAN: 14,
  TPGOTSIG: 15,
  TPERMERR: 16,
  TPEITYPE: 17,
  TPEOTYPE: 18,
  TPERELEASE: 19,
  TPEHAZARD: 20,
  TPEHEURISTIC: 21,
  TPEEVENT: 22,
  TPEMATCH: 23,
  TPEDIAGNOSTIC: 24,
  TPEMIB: 25,
} as const;
export type Tperrno = (typeof TPERRNO)[keyof typeof TPERRNO];

/** Diagnostics in `ctl.diagnostic` when tperrno is TPEDIAGNOSTIC [spec 1.3]. OK (0) is ours: no diagnostic. */
export const QME = {
  OK: 0,
  QMEINVAL: -1,
  QMEBADRMID: -2,
  QMENOTOPEN: -3,
  QMETRAN: -4,
  QMEBADMSGID: -5,
  QMESYSTEM: -6,
  QMEOS: -7,
  QMEABORTED: -8,
  QMEPROTO: -9,
  QMEBADQUEUE: -10,
  QMENOMSG: -11,
  QMEINUSE: -12,
  QMENOSPACE: -13,
  QMERELEASE: -14,
  QMEINVHANDLE: -15,
  QMESHARE: -16,
} as const;
export type Qme = (typeof QME)[keyof typeof QME];

/** Bits of `ctl.flags` [spec 1.2]. Test the two GETBY flags with `(f & X) === X`. */
export const TPQ = {
  TPNOFLAGS: 0x00000,
  TPQCORRID: 0x00001,
  TPQFAILUREQ: 0x00002,
  TPQBEFOREMSGID: 0x00004,
  TPQGETBYMSGIDOLD: 0x00008,
  TPQMSGID: 0x00010,
  TPQPRIORITY: 0x00020,
  TPQTOP: 0x00040,
  TPQWAIT: 0x00080,
  TPQREPLYQ: 0x00100,
  TPQTIME_ABS: 0x00200,
  TPQTIME_REL: 0x00400,
  TPQGETBYCORRIDOLD: 0x00800,
  TPQPEEK: 0x01000,
  TPQDELIVERYQOS: 0x02000,
  TPQREPLYQOS: 0x04000,
  TPQEXPTIME_ABS: 0x08000,
  TPQEXPTIME_REL: 0x10000,
  TPQEXPTIME_NONE: 0x20000,
  TPQGETBYMSGID: 0x40008,
  TPQGETBYCORRID: 0x80800,
} as const;

/** Values of delivery_qos and reply_qos [spec 1.2]. */
export const TPQQOS = {
  TPQQOSDEFAULTPERSIST: 0x1,
  TPQQOSPERSISTENT: 0x2,
  TPQQOSNONPERSISTENT: 0x4,
} as const;

/** Bits of the `flags` argument of ATMI calls and of TPSVCINFO.flags [spec 2.2]. */
export const TPFLAG = {
  TPNOBLOCK: 0x1,
  TPSIGRSTRT: 0x2,
  TPNOREPLY: 0x4,
  TPNOTRAN: 0x8,
  TPTRAN: 0x10,
  TPNOTIME: 0x20,
  TPABSOLUTE: 0x40,
  TPGETANY: 0x80,
  TPNOCHANGE: 0x100,
  TPCONV: 0x400,
  TPSENDONLY: 0x800,
  TPRECVONLY: 0x1000,
  TPACK: 0x2000,
} as const;

/** First argument of tpreturn [spec 3.5]. */
export const RVAL = { TPFAIL: 0x1, TPSUCCESS: 0x2, TPEXIT: 0x08000000 } as const;

/** Bits of TPINIT.flags; at most one of the first four, which say how unsolicited messages are taken [spec 3.1]. */
export const TPU = {
  TPU_SIG: 0x1,
  TPU_DIP: 0x2,
  TPU_IGN: 0x4,
  TPU_THREAD: 0x40,
  TPSA_FASTPATH: 0x8,
  TPSA_PROTECTED: 0x10,
  TPMULTICONTEXTS: 0x20,
} as const;

/** What tpscmt takes and returns [spec 3.3]. */
export const TP_CMT = { TP_CMT_LOGGED: 1, TP_CMT_COMPLETE: 2 } as const;

/** Security levels that tpchkauth returns [spec 3.1]. */
export const TPAUTH = { TPNOAUTH: 0, TPSYSAUTH: 1, TPAPPAUTH: 2 } as const;

/** Buffer types that travel as a small integer; every other type travels as its name. 0 means "no data part". */
export const BUFTYPE = {
  NONE: 0,
  STRING: 1,
  CARRAY: 2,
  X_OCTET: 3,
  JSON: 4,
  MBSTRING: 5,
  XML: 6,
} as const;

/** Operation codes, the first element of every frame. A positive reply is the request's code + 128. */
export const OP = {
  HELLO: 1,
  GOODBYE: 2,
  ENQUEUE: 3,
  DEQUEUE: 4,
  BEGIN: 5,
  COMMIT: 6,
  ABORT: 7,
  CANCEL: 8,
  CALL: 9,
  ADVERTISE: 10,
  UNADVERTISE: 11,
  RETURN: 12,
  STAT: 13,
  PING: 14,
  BIND: 15,
  ADMIN: 16,
  FORWARD: 17,
  NOTIFY: 18,
  BROADCAST: 19,
  ACK: 20,
  PRIOCALL: 21,
  SUSPEND: 24,
  RESUME: 25,
  /** COMMIT that says when it is to be answered: one of TP_CMT. */
  COMMITAT: 26,
  /** What became of a transaction, by the id that BEGIN answered. */
  OUTCOME: 32,
  /** Everything of the AQ dialect, by its verb (aq/verbs.ts). */
  AQ: 33,
  /** Pushed by the daemon: a service request for this connection. */
  REQUEST: 64,
  /** Pushed by the daemon: it is about to close this connection; the text says why. */
  CLOSING: 65,
  /** Pushed by the daemon: an unsolicited message. */
  UNSOLICITED: 66,
  /** Negative reply to an AQ request: an ERROR with the number of an AQ error. */
  AQERROR: 126,
  /** Negative reply to any request. */
  ERROR: 127,
} as const;
/** What ADMIN asks for: its third element. A daemon refuses one that it does not know with TPEINVAL. */
export const ADMIN = {
  QCREATE: 1,
  QCHANGE: 2,
  QDESTROY: 3,
  QINFO: 4,
  QLIST: 5,
  QPURGE: 6,
  QPAUSE: 7,
  QRESUME: 8,
  QSPACEINFO: 9,
  SRVSTART: 10,
  SRVSTOP: 11,
  // About devices and the spaces on them.
  DEVLIST: 32,
  DEVADD: 33,
  DEVCHANGE: 34,
  DEVREMOVE: 35,
  QSPACELIST: 36,
  QSPACEATTR: 37,
  QSPACECREATE: 38,
  QSPACECHANGE: 39,
  QSPACEADD: 40,
  QSPACEDESTROY: 41,
  QSPACEOPEN: 42,
  IPCRM: 43,
  QREDRIVE: 60,
  SRVLIST: 20,
  RELOAD: 21,
  // About messages and transactions.
  MSGLIST: 70,
  MSGCHANGE: 71,
  TRANLIST: 72,
  TRANEND: 73,
} as const;
export type AdminVerb = (typeof ADMIN)[keyof typeof ADMIN];

/** What OUTCOME answers. */
export const OUTCOME = {
  /** Nobody knows any more, or nobody can know now: too long ago, or a queue space is not open. */
  UNKNOWN: 0,
  /** It has not ended, or its commit is being decided. */
  OPEN: 1,
  COMMITTED: 2,
  ROLLED_BACK: 3,
  /** Prepared, and its transaction log is not this daemon's. */
  IN_DOUBT: 4,
} as const;

/**
 * Added to the id of a REQUEST with TPTRAN: the transaction that the service has joined, as its server names it. Ids of REQUEST and numbers
 * of BEGIN and RESUME are below.
 */
export const JOINED_TX = 0x8000_0000;

/** Added to a request's opcode to form the opcode of its positive reply. */
export const REPLY_BIT = 128;

/** Limits that do not depend on a configuration [spec 1.1, 3.1; DESIGN 10]. */
export const LIMIT = {
  /** Bytes of a queue, reply queue, failure queue or service name. */
  TMQNAMELEN: 127,
  /** Characters of a queue space's name. */
  TMQSNAMELEN: 15,
  TMMSGIDLEN: 32,
  TMCORRIDLEN: 32,
  /** Bytes of usrname, cltname, passwd, grpname. */
  MAXTIDENT: 30,
  /** Bytes of a buffer type's and subtype's name. */
  TYPE_NAME: 8,
  SUBTYPE_NAME: 16,
  /** Bytes of a CLIENTID on the wire. */
  CLTIDLEN: 16,
  /** Bytes of a TPTRANID. */
  TRANIDLEN: 16,
  /** Bytes of a transaction's own id. */
  TRANSACTION: 12,
  PRIORITY_MIN: 1,
  PRIORITY_MAX: 100,
  /** Priority of a message that gave none [spec 1.5]. */
  PRIORITY_DEFAULT: 50,
  /** Bytes of a message's data: default, and the most a configuration may allow. */
  MESSAGE_BYTES_DEFAULT: 16_777_216,
  MESSAGE_BYTES_MAX: 268_435_456,
  /** What a frame may hold beyond its data: names, ids, control members, error text. */
  FRAME_OVERHEAD_BYTES: 4096,
  /** How far data may exceed the message limit and still be refused with TPEINVAL on a connection that goes on. */
  FRAME_SLACK_BYTES: 65_536,
  /** A frame's largest length, in both directions, until HELLO has been answered. */
  HELLO_FRAME_BYTES: 16_384,
  /** TPINIT data. */
  HELLO_DATA_BYTES: 4096,
  /** Any string in a frame; that a name may be shorter still is for the role to check. */
  STRING_BYTES: 1024,
  /** Requests of one connection that wait for their answer. */
  IN_FLIGHT_DEFAULT: 1024,
  CONNECTIONS_DEFAULT: 4096,
  /** Bytes that may wait for a reader that does not read, before its connection stops being read. */
  READER_BYTES_DEFAULT: 8_388_608,
  /** Queue names bound to a handle, per connection. */
  BINDINGS: 4096,
  /** Services one connection may advertise. */
  ADVERTISED: 1024,
  /** Named members of one map of ADMIN, and bytes of a member's name. */
  MEMBERS: 64,
  MEMBER_NAME: 32,
  /** Queues in one answer of QLIST: when the request says nothing, and the most it may ask for. */
  PAGE_DEFAULT: 100,
  PAGE_MAX: 1000,
  /** Messages that one QREDRIVE may name. */
  REDRIVE_MSGIDS: 1000,
  /** Bytes of the data of one message that MSGLIST shows at most. */
  PEEK_BYTES: 16_384,
  /** Bytes that the items of one answer take at most: fits every frame, whatever the message limit. */
  PAGE_BYTES: 49_152,
  /** Descriptors of tpacall that one context may have outstanding. */
  DESCRIPTORS: 1000,
} as const;

/** Protocol versions this code speaks. */
export const PROTOCOL_VERSION = { MIN: 1, MAX: 1 } as const;
/** Default listening address [DESIGN 2]. */
export const DEFAULT_ADDRESS = { host: '127.0.0.1', port: 7110 } as const;

/** The symbolic name of a tperrno, e.g. `TPEDIAGNOSTIC`; the number in words when it has none. */
export function tperrnoName(value: number): string {
  return nameOf(TPERRNO, value) ?? `tperrno ${value}`;
}

/** The symbolic name of a diagnostic, e.g. `QMEBADQUEUE`; the number in words when it has none. */
export function qmeName(value: number): string {
  return nameOf(QME, value) ?? `diagnostic ${value}`;
}

function nameOf(table: Readonly<Record<string, number>>, value: number): string | undefined {
  return Object.keys(table).find((name) => table[name] === value);
}
