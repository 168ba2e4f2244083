// TPQCTL with the member names of C, and its way to and from the wire. Invariants: members whose flag is off are never read on input
// [spec 9.1]; outputs are written as C does [spec 1.1, 1.4]. Rules that the daemon checks are left to it; only what cannot be sent is
// refused here, with QMEINVAL. Must not know queues or sockets.
import { LIMIT, TPQ } from '../../proto/codes.ts';
import type { QctlIn, QctlOut } from '../../proto/message.ts';
import { carriesDeqTime, carriesExpTime, emptyQctl, selectsCorrid, selectsMsgid } from '../../proto/qctl.ts';
import { ownBytes } from './buffer.ts';

/** The control structure of tpenqueue and tpdequeue [spec 1.1]. Reusable; `flags` must be set again before every call. */
export class TPQCTL {
  /** TPQ bits: on input what is given and what is wanted, after a dequeue what came. */
  flags = 0;
  /** Seconds: since 1970 with TPQTIME_ABS, from now with TPQTIME_REL. */
  deq_time = 0;
  /** 1..100 */
  priority = 0;
  /** QME value when a call failed with TPEDIAGNOSTIC. */
  diagnostic = 0;
  /** 32 bytes. */
  msgid: Uint8Array | null = null;
  /** 32 bytes; a string is sent as UTF-8, padded with NUL. Bytes on output. */
  corrid: Uint8Array | string | null = null;
  /** At most 127 bytes. */
  replyqueue = '';
  failurequeue = '';
  /** 16 opaque bytes: the client that enqueued. */
  cltid: Uint8Array | null = null;
  /** The application's own return code, an integer. */
  urcode = 0;
  /** The enqueuer's application key; -1: none. */
  appkey = 0;
  /** TPQQOS values. */
  delivery_qos = 0;
  reply_qos = 0;
  /** Seconds, as deq_time. */
  exp_time = 0;

  constructor(members: Partial<TPQCTL> = {}) {
    Object.assign(this, members);
  }
}

/** An enqueue's control structure for the wire; a string says why it cannot be sent (QMEINVAL). */
export function enqueueCtl(ctl: TPQCTL): QctlIn | string {
  const { flags } = ctl;
  if (!isU32(flags)) return `flags ${String(flags)}`;
  const out = emptyQctl(flags);
  if (carriesDeqTime(flags)) out.deqTime = ctl.deq_time;
  if ((flags & TPQ.TPQPRIORITY) !== 0) out.priority = ctl.priority;
  if ((flags & TPQ.TPQDELIVERYQOS) !== 0) out.deliveryQos = ctl.delivery_qos;
  if ((flags & TPQ.TPQREPLYQOS) !== 0) out.replyQos = ctl.reply_qos;
  if (carriesExpTime(flags)) out.expTime = ctl.exp_time;
  out.urcode = ctl.urcode;
  if ((flags & TPQ.TPQBEFOREMSGID) !== 0) {
    if (!isId(ctl.msgid)) return 'msgid is not 32 bytes';
    out.msgid = ctl.msgid;
  }
  if ((flags & TPQ.TPQCORRID) !== 0) {
    out.corrid = corridBytes(ctl.corrid);
    if (out.corrid === null) return 'corrid is longer than 32 bytes, or none';
  }
  if ((flags & TPQ.TPQREPLYQ) !== 0) out.replyqueue = ctl.replyqueue;
  if ((flags & TPQ.TPQFAILUREQ) !== 0) out.failurequeue = ctl.failurequeue;
  return unsendable(out) ?? out;
}

/** A dequeue's control structure for the wire; a string says why it cannot be sent (QMEINVAL). */
export function dequeueCtl(ctl: TPQCTL): QctlIn | string {
  const { flags } = ctl;
  if (!isU32(flags)) return `flags ${String(flags)}`;
  const out = emptyQctl(flags);
  if (selectsMsgid(flags)) {
    if (!isId(ctl.msgid)) return 'msgid is not 32 bytes';
    out.msgid = ctl.msgid;
  }
  if (selectsCorrid(flags)) {
    out.corrid = corridBytes(ctl.corrid);
    if (out.corrid === null) return 'corrid is longer than 32 bytes, or none';
  }
  return out;
}

/** Writes what a dequeue returned: flags by spec 1.4, the members whose flag is set, and always cltid, urcode, appkey. */
export function fillCtl(ctl: TPQCTL, out: QctlOut): void {
  const { flags } = out;
  ctl.flags = flags;
  if ((flags & TPQ.TPQPRIORITY) !== 0) ctl.priority = out.priority;
  if (out.msgid !== null) ctl.msgid = ownBytes(out.msgid);
  if (out.corrid !== null) ctl.corrid = ownBytes(out.corrid);
  if ((flags & TPQ.TPQREPLYQ) !== 0) ctl.replyqueue = out.replyqueue;
  if ((flags & TPQ.TPQFAILUREQ) !== 0) ctl.failurequeue = out.failurequeue;
  if ((flags & TPQ.TPQDELIVERYQOS) !== 0) ctl.delivery_qos = out.deliveryQos;
  if ((flags & TPQ.TPQREPLYQOS) !== 0) ctl.reply_qos = out.replyQos;
  ctl.cltid = ownBytes(out.cltid);
  ctl.urcode = out.urcode;
  ctl.appkey = out.appkey;
}

/** A corrid's 32 bytes, or null when the text is longer or there is none. */
export function corridBytes(corrid: Uint8Array | string | null): Uint8Array | null {
  if (typeof corrid !== 'string') return isId(corrid) ? corrid : null;
  const bytes = Buffer.alloc(LIMIT.TMCORRIDLEN);
  if (corrid.length > bytes.length || Buffer.byteLength(corrid) > bytes.length) return null;
  bytes.write(corrid);
  return bytes;
}

/** A corrid as text: what is before the padding. */
export function corridText(corrid: Uint8Array): string {
  let end = corrid.length;
  while (end > 0 && corrid[end - 1] === 0) end--;
  return Buffer.from(corrid.buffer, corrid.byteOffset, end).toString('utf8');
}

function unsendable(ctl: QctlIn): string | undefined {
  if (!Number.isSafeInteger(ctl.deqTime)) return 'deq_time is not an integer';
  if (!Number.isSafeInteger(ctl.priority)) return 'priority is not an integer';
  if (!Number.isSafeInteger(ctl.deliveryQos)) return 'delivery_qos is not an integer';
  if (!Number.isSafeInteger(ctl.replyQos)) return 'reply_qos is not an integer';
  if (!Number.isSafeInteger(ctl.expTime)) return 'exp_time is not an integer';
  if (!Number.isSafeInteger(ctl.urcode)) return 'urcode is not an integer';
  if (!isSendableName(ctl.replyqueue)) return 'replyqueue is too long';
  if (!isSendableName(ctl.failurequeue)) return 'failurequeue is too long';
  return undefined;
}

/** Short enough to travel; whether it is a queue's name is for the daemon. */
function isSendableName(name: unknown): boolean {
  return typeof name === 'string' && name.length <= LIMIT.STRING_BYTES / 3;
}

function isId(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array && value.length === LIMIT.TMMSGIDLEN;
}

function isU32(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;
}
