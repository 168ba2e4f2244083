// The rules of TPQCTL that need nothing but the structure itself: which bits are known, which members travel, which combinations are
// refused [spec 1.2, 1.4, 1.6]. Invariants: pure; a member whose flag is off is never read. Must not know spaces, queues or sockets.
import { LIMIT, QME, TPQ, TPQQOS, type Qme } from './codes.ts';
import type { QctlIn } from './message.ts';

export type QctlSide = 'enqueue' | 'dequeue';

const GETBY_NEW_BITS =
  (TPQ.TPQGETBYMSGID | TPQ.TPQGETBYCORRID) & ~(TPQ.TPQGETBYMSGIDOLD | TPQ.TPQGETBYCORRIDOLD);

/** Every bit that has a meaning somewhere. */
export const KNOWN_BITS: number = Object.values(TPQ).reduce((bits: number, bit) => bits | bit, 0);

/** Bits that dequeue may return set [spec 1.4]. */
export const DEQUEUE_OUTPUT_BITS: number =
  TPQ.TPQPRIORITY |
  TPQ.TPQMSGID |
  TPQ.TPQCORRID |
  TPQ.TPQDELIVERYQOS |
  TPQ.TPQREPLYQOS |
  TPQ.TPQREPLYQ |
  TPQ.TPQFAILUREQ;

/** Bits that only enqueue reads; dequeue ignores and clears them. */
export const ENQUEUE_ONLY_BITS: number =
  TPQ.TPQBEFOREMSGID |
  TPQ.TPQTOP |
  TPQ.TPQTIME_ABS |
  TPQ.TPQTIME_REL |
  TPQ.TPQEXPTIME_ABS |
  TPQ.TPQEXPTIME_REL |
  TPQ.TPQEXPTIME_NONE;

/** Bits that only dequeue reads; enqueue ignores them. */
export const DEQUEUE_ONLY_BITS: number = TPQ.TPQWAIT | TPQ.TPQPEEK | TPQ.TPQGETBYMSGID | TPQ.TPQGETBYCORRID;

const TIME_BITS = TPQ.TPQTIME_ABS | TPQ.TPQTIME_REL;
const EXPTIME_VALUE_BITS = TPQ.TPQEXPTIME_ABS | TPQ.TPQEXPTIME_REL;
const EXPTIME_BITS = EXPTIME_VALUE_BITS | TPQ.TPQEXPTIME_NONE;

/** The names of the set bits, for messages, e.g. `TPQTOP|TPQTIME_REL`; what has no name in hexadecimal. */
export function qctlFlagNames(flags: number): string {
  const names: string[] = [];
  let left = flags >>> 0;
  // Last first: the two-bit GETBY flags come after their old halves in the table.
  for (const [name, bits] of Object.entries(TPQ).toReversed()) {
    if (bits === 0 || (left & bits) !== bits) continue;
    names.push(name);
    left = (left & ~bits) >>> 0;
  }
  if (left !== 0) names.unshift(`0x${left.toString(16)}`);
  return names.length === 0 ? 'TPNOFLAGS' : names.toReversed().join('|');
}

/** Whether a message is selected by msgid; the old bit alone counts [spec 1.2 D]. */
export function selectsMsgid(flags: number): boolean {
  return (flags & TPQ.TPQGETBYMSGIDOLD) !== 0;
}

/** Whether a message is selected by corrid; the old bit alone counts [spec 1.2 D]. */
export function selectsCorrid(flags: number): boolean {
  return (flags & TPQ.TPQGETBYCORRIDOLD) !== 0;
}

/** The flags a dequeue returns: asked for, able to come back, and supplied when the message was queued [spec 1.4]. */
export function dequeueOutputFlags(asked: number, supplied: number): number {
  return asked & DEQUEUE_OUTPUT_BITS & (supplied | TPQ.TPQMSGID);
}

/** A TPQCTL in which nothing is selected. */
export function emptyQctl(flags = 0): QctlIn {
  return {
    flags,
    deqTime: 0,
    priority: 0,
    msgid: null,
    corrid: null,
    replyqueue: '',
    failurequeue: '',
    urcode: 0,
    deliveryQos: 0,
    replyQos: 0,
    expTime: 0,
  };
}

/** How many members of an enqueue's TPQCTL travel beside `flags` and urcode. */
export function enqueueMembers(flags: number): number {
  let count = 0;
  if ((flags & TIME_BITS) !== 0) count++;
  if ((flags & TPQ.TPQPRIORITY) !== 0) count++;
  if ((flags & TPQ.TPQBEFOREMSGID) !== 0) count++;
  if ((flags & TPQ.TPQCORRID) !== 0) count++;
  if ((flags & TPQ.TPQREPLYQ) !== 0) count++;
  if ((flags & TPQ.TPQFAILUREQ) !== 0) count++;
  if ((flags & TPQ.TPQDELIVERYQOS) !== 0) count++;
  if ((flags & TPQ.TPQREPLYQOS) !== 0) count++;
  if ((flags & EXPTIME_VALUE_BITS) !== 0) count++;
  return count;
}

/** Whether an enqueue's TPQCTL carries deq_time. */
export function carriesDeqTime(flags: number): boolean {
  return (flags & TIME_BITS) !== 0;
}

/** Whether an enqueue's TPQCTL carries exp_time; TPQEXPTIME_NONE has no value. */
export function carriesExpTime(flags: number): boolean {
  return (flags & EXPTIME_VALUE_BITS) !== 0;
}

/** OK, or QMEINVAL by the rows of [spec 1.6] that an enqueue's TPQCTL alone decides, in their order. */
export function checkEnqueueCtl(ctl: QctlIn): Qme {
  const { flags } = ctl;
  if (!knownFlags(flags)) return QME.QMEINVAL;
  if ((flags & (TPQ.TPQTOP | TPQ.TPQBEFOREMSGID)) === (TPQ.TPQTOP | TPQ.TPQBEFOREMSGID)) return QME.QMEINVAL;
  if ((flags & TIME_BITS) === TIME_BITS) return QME.QMEINVAL;
  if (bitCount(flags & EXPTIME_BITS) > 1) return QME.QMEINVAL;
  if ((flags & TPQ.TPQPRIORITY) !== 0 && !validPriority(ctl.priority)) return QME.QMEINVAL;
  if ((flags & TPQ.TPQDELIVERYQOS) !== 0 && !validQos(ctl.deliveryQos)) return QME.QMEINVAL;
  if ((flags & TPQ.TPQREPLYQOS) !== 0 && !validQos(ctl.replyQos)) return QME.QMEINVAL;
  if (carriesDeqTime(flags) && ctl.deqTime < 0) return QME.QMEINVAL;
  if (carriesExpTime(flags) && ctl.expTime < 0) return QME.QMEINVAL;
  if ((flags & TPQ.TPQREPLYQ) !== 0 && !validQueueName(ctl.replyqueue)) return QME.QMEINVAL;
  if ((flags & TPQ.TPQFAILUREQ) !== 0 && !validQueueName(ctl.failurequeue)) return QME.QMEINVAL;
  if ((flags & TPQ.TPQCORRID) !== 0 && ctl.corrid?.length !== LIMIT.TMCORRIDLEN) return QME.QMEINVAL;
  if ((flags & TPQ.TPQBEFOREMSGID) !== 0 && ctl.msgid?.length !== LIMIT.TMMSGIDLEN) return QME.QMEINVAL;
  return QME.OK;
}

/** OK, or QMEINVAL: an unknown bit, or an old selection bit together with TPQWAIT [spec 1.2]. Enqueue-only bits are ignored. */
export function checkDequeueCtl(ctl: QctlIn): Qme {
  const { flags } = ctl;
  if (!knownFlags(flags)) return QME.QMEINVAL;
  if ((flags & TPQ.TPQWAIT) !== 0) {
    if ((flags & TPQ.TPQGETBYMSGID) === TPQ.TPQGETBYMSGIDOLD) return QME.QMEINVAL;
    if ((flags & TPQ.TPQGETBYCORRID) === TPQ.TPQGETBYCORRIDOLD) return QME.QMEINVAL;
  }
  if (selectsMsgid(flags) && ctl.msgid?.length !== LIMIT.TMMSGIDLEN) return QME.QMEINVAL;
  if (selectsCorrid(flags) && ctl.corrid?.length !== LIMIT.TMCORRIDLEN) return QME.QMEINVAL;
  return QME.OK;
}

/** Whether a reply or failure queue can have this name: 1..127 bytes of UTF-8 without NUL [spec 1.6 D]. */
export function validQueueName(name: string): boolean {
  if (name === '' || name.length > LIMIT.TMQNAMELEN || name.includes('\0')) return false;
  return name.length * 3 <= LIMIT.TMQNAMELEN || Buffer.byteLength(name) <= LIMIT.TMQNAMELEN;
}

/** No bit without a meaning; half of a two-bit GETBY flag (0x40000, 0x80000 alone) has none. */
function knownFlags(flags: number): boolean {
  if ((flags & ~KNOWN_BITS) !== 0) return false;
  const halves = flags & GETBY_NEW_BITS;
  if (halves === 0) return true;
  const msgid = (halves & TPQ.TPQGETBYMSGID) === 0 || selectsMsgid(flags);
  const corrid = (halves & TPQ.TPQGETBYCORRID) === 0 || selectsCorrid(flags);
  return msgid && corrid;
}

function validPriority(value: number): boolean {
  return value >= LIMIT.PRIORITY_MIN && value <= LIMIT.PRIORITY_MAX;
}

function validQos(value: number): boolean {
  return (
    value === TPQQOS.TPQQOSDEFAULTPERSIST ||
    value === TPQQOS.TPQQOSPERSISTENT ||
    value === TPQQOS.TPQQOSNONPERSISTENT
  );
}

function bitCount(bits: number): number {
  let count = 0;
  for (let left = bits; left !== 0; left &= left - 1) count++;
  return count;
}
