// TPQCTL ↔ bytes: an array of flags and just the members that the flags select, in the declaration order of the C structure. Invariants:
// the number of elements follows from the flags; unknown bits travel and select nothing. Whether values make sense is qctl.ts's and the
// role's matter.
//
//     enqueue  [flags, deq_time?, priority?, msgid?, corrid?, replyqueue?, failurequeue?, delivery_qos?, reply_qos?, exp_time?, urcode?]
//     dequeue  [flags, msgid?, corrid?]
//     answer   [flags, priority?, msgid?, corrid?, replyqueue?, failurequeue?, delivery_qos?, reply_qos?, cltid, urcode, appkey]
import { LIMIT, TPQ } from './codes.ts';
import type { Cursor } from './cursor.ts';
import type { QctlIn, QctlOut } from './message.ts';
import {
  carriesDeqTime,
  carriesExpTime,
  DEQUEUE_OUTPUT_BITS,
  emptyQctl,
  enqueueMembers,
  selectsCorrid,
  selectsMsgid,
} from './qctl.ts';
import type { FrameWriter } from './writer.ts';

const U32_MAX = 0xffff_ffff;
/** flags before, cltid, urcode and appkey after the selected members. */
const ANSWER_FIXED = 4;
const NO_ID = new Uint8Array(LIMIT.TMMSGIDLEN);

/** Assumes what the flags select is there; an id that is not is sent as 32 NUL. */
export function writeEnqueueCtl(writer: FrameWriter, ctl: QctlIn | null): void {
  if (ctl === null) {
    writer.nil();
    return;
  }
  const { flags } = ctl;
  writer.array(1 + enqueueMembers(flags) + (ctl.urcode === 0 ? 0 : 1));
  writer.int(flags);
  if (carriesDeqTime(flags)) writer.int(ctl.deqTime);
  if ((flags & TPQ.TPQPRIORITY) !== 0) writer.int(ctl.priority);
  if ((flags & TPQ.TPQBEFOREMSGID) !== 0) writer.bin(ctl.msgid ?? NO_ID);
  if ((flags & TPQ.TPQCORRID) !== 0) writer.bin(ctl.corrid ?? NO_ID);
  if ((flags & TPQ.TPQREPLYQ) !== 0) writer.str(ctl.replyqueue);
  if ((flags & TPQ.TPQFAILUREQ) !== 0) writer.str(ctl.failurequeue);
  if ((flags & TPQ.TPQDELIVERYQOS) !== 0) writer.int(ctl.deliveryQos);
  if ((flags & TPQ.TPQREPLYQOS) !== 0) writer.int(ctl.replyQos);
  if (carriesExpTime(flags)) writer.int(ctl.expTime);
  if (ctl.urcode !== 0) writer.int(ctl.urcode);
}

export function readEnqueueCtl(cursor: Cursor): QctlIn | null {
  if (cursor.nil()) return null;
  const count = cursor.array('ctl');
  const ctl = emptyQctl();
  if (count < 1) {
    cursor.fail('ctl: an array without flags');
    return ctl;
  }
  const flags = cursor.uint('ctl.flags', U32_MAX);
  ctl.flags = flags;
  const members = 1 + enqueueMembers(flags);
  if (count !== members && count !== members + 1) {
    cursor.fail(`ctl: ${count} members, its flags select ${members}`);
    return ctl;
  }
  if (carriesDeqTime(flags)) ctl.deqTime = cursor.int('ctl.deq_time');
  if ((flags & TPQ.TPQPRIORITY) !== 0) ctl.priority = cursor.int('ctl.priority');
  if ((flags & TPQ.TPQBEFOREMSGID) !== 0) ctl.msgid = cursor.binOf('ctl.msgid', LIMIT.TMMSGIDLEN);
  if ((flags & TPQ.TPQCORRID) !== 0) ctl.corrid = cursor.binOf('ctl.corrid', LIMIT.TMCORRIDLEN);
  if ((flags & TPQ.TPQREPLYQ) !== 0) ctl.replyqueue = cursor.str('ctl.replyqueue', LIMIT.STRING_BYTES);
  if ((flags & TPQ.TPQFAILUREQ) !== 0) ctl.failurequeue = cursor.str('ctl.failurequeue', LIMIT.STRING_BYTES);
  if ((flags & TPQ.TPQDELIVERYQOS) !== 0) ctl.deliveryQos = cursor.int('ctl.delivery_qos');
  if ((flags & TPQ.TPQREPLYQOS) !== 0) ctl.replyQos = cursor.int('ctl.reply_qos');
  if (carriesExpTime(flags)) ctl.expTime = cursor.int('ctl.exp_time');
  if (count > members) ctl.urcode = cursor.int('ctl.urcode');
  return ctl;
}

/** Assumes what the flags select is there; an id that is not is sent as 32 NUL. */
export function writeDequeueCtl(writer: FrameWriter, ctl: QctlIn | null): void {
  if (ctl === null) {
    writer.nil();
    return;
  }
  const { flags } = ctl;
  writer.array(1 + (selectsMsgid(flags) ? 1 : 0) + (selectsCorrid(flags) ? 1 : 0));
  writer.int(flags);
  if (selectsMsgid(flags)) writer.bin(ctl.msgid ?? NO_ID);
  if (selectsCorrid(flags)) writer.bin(ctl.corrid ?? NO_ID);
}

export function readDequeueCtl(cursor: Cursor): QctlIn | null {
  if (cursor.nil()) return null;
  const count = cursor.array('ctl');
  const ctl = emptyQctl();
  if (count < 1) {
    cursor.fail('ctl: an array without flags');
    return ctl;
  }
  const flags = cursor.uint('ctl.flags', U32_MAX);
  ctl.flags = flags;
  const members = 1 + (selectsMsgid(flags) ? 1 : 0) + (selectsCorrid(flags) ? 1 : 0);
  if (count !== members) {
    cursor.fail(`ctl: ${count} members, its flags select ${members}`);
    return ctl;
  }
  if (selectsMsgid(flags)) ctl.msgid = cursor.binOf('ctl.msgid', LIMIT.TMMSGIDLEN);
  if (selectsCorrid(flags)) ctl.corrid = cursor.binOf('ctl.corrid', LIMIT.TMCORRIDLEN);
  return ctl;
}

/** Bits beyond the seven output bits are not sent [spec 1.4]. */
export function writeAnswerCtl(writer: FrameWriter, ctl: QctlOut): void {
  const flags = ctl.flags & DEQUEUE_OUTPUT_BITS;
  writer.array(ANSWER_FIXED + answerMembers(flags));
  writer.int(flags);
  if ((flags & TPQ.TPQPRIORITY) !== 0) writer.int(ctl.priority);
  if ((flags & TPQ.TPQMSGID) !== 0) writer.bin(ctl.msgid ?? NO_ID);
  if ((flags & TPQ.TPQCORRID) !== 0) writer.bin(ctl.corrid ?? NO_ID);
  if ((flags & TPQ.TPQREPLYQ) !== 0) writer.str(ctl.replyqueue);
  if ((flags & TPQ.TPQFAILUREQ) !== 0) writer.str(ctl.failurequeue);
  if ((flags & TPQ.TPQDELIVERYQOS) !== 0) writer.int(ctl.deliveryQos);
  if ((flags & TPQ.TPQREPLYQOS) !== 0) writer.int(ctl.replyQos);
  writer.bin(ctl.cltid);
  writer.int(ctl.urcode);
  writer.int(ctl.appkey);
}

export function readAnswerCtl(cursor: Cursor): QctlOut {
  const count = cursor.array('ctl');
  const flags = cursor.uint('ctl.flags', U32_MAX);
  if ((flags & ~DEQUEUE_OUTPUT_BITS) !== 0) cursor.fail('ctl.flags: a bit that dequeue does not return');
  const members = ANSWER_FIXED + answerMembers(flags);
  if (count !== members) cursor.fail(`ctl: ${count} members, its flags select ${members}`);
  return {
    flags,
    priority: (flags & TPQ.TPQPRIORITY) === 0 ? 0 : cursor.int('ctl.priority'),
    msgid: (flags & TPQ.TPQMSGID) === 0 ? null : cursor.binOf('ctl.msgid', LIMIT.TMMSGIDLEN),
    corrid: (flags & TPQ.TPQCORRID) === 0 ? null : cursor.binOf('ctl.corrid', LIMIT.TMCORRIDLEN),
    replyqueue: (flags & TPQ.TPQREPLYQ) === 0 ? '' : cursor.str('ctl.replyqueue', LIMIT.STRING_BYTES),
    failurequeue: (flags & TPQ.TPQFAILUREQ) === 0 ? '' : cursor.str('ctl.failurequeue', LIMIT.STRING_BYTES),
    deliveryQos: (flags & TPQ.TPQDELIVERYQOS) === 0 ? 0 : cursor.int('ctl.delivery_qos'),
    replyQos: (flags & TPQ.TPQREPLYQOS) === 0 ? 0 : cursor.int('ctl.reply_qos'),
    cltid: cursor.binOf('ctl.cltid', LIMIT.CLTIDLEN),
    urcode: cursor.int('ctl.urcode'),
    appkey: cursor.int('ctl.appkey'),
  };
}

function answerMembers(flags: number): number {
  let count = 0;
  for (let bits = flags & DEQUEUE_OUTPUT_BITS; bits !== 0; bits &= bits - 1) count++;
  return count;
}
