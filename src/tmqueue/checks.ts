// What can be refused before a queue space is looked at [spec 1.6: arguments → flags argument → ctl flags → space → queue → resources].
// A refusal is a failure and the sentence that goes with it.
import { LIMIT, QME, TPFLAG, TPQ, TPERRNO } from '../../proto/codes.ts';
import type { QctlIn } from '../../proto/message.ts';
import { checkDequeueCtl, checkEnqueueCtl, qctlFlagNames, type QctlSide } from '../../proto/qctl.ts';
import type { Failure } from '../engine/request.ts';

export interface Refusal {
  readonly failure: Failure;
  readonly message: string;
}

const COMMON_FLAGS = TPFLAG.TPNOBLOCK | TPFLAG.TPSIGRSTRT | TPFLAG.TPNOTRAN | TPFLAG.TPNOTIME;
/** Bits of the `flags` argument that each call takes [spec 2.2]. */
const CALL_FLAGS: Readonly<Record<QctlSide, number>> = {
  enqueue: COMMON_FLAGS,
  dequeue: COMMON_FLAGS | TPFLAG.TPNOCHANGE,
};

/** qspace and qname as arguments: 1 to 127 bytes without NUL, each [spec 1.6, first row]. */
export function checkNames(qspace: string, qname: string): Refusal | null {
  return checkName('queue space', qspace) ?? checkName('queue', qname);
}

function checkName(what: string, name: string): Refusal | null {
  if (name === '') return { failure: TPERRNO.TPEINVAL, message: `the name of the ${what} is empty` };
  if (!tooLong(name)) return null;
  const message = `the name of a ${what} has at most ${LIMIT.TMQNAMELEN} bytes and no NUL`;
  return { failure: TPERRNO.TPEINVAL, message };
}

export function checkCallFlags(flags: number, side: QctlSide): Refusal | null {
  const unknown = flags & ~CALL_FLAGS[side];
  if (unknown === 0) return null;
  const bits = `0x${(unknown >>> 0).toString(16)}`;
  return { failure: TPERRNO.TPEINVAL, message: `flags: tp${side} does not take bit ${bits}` };
}

export function checkCtl(ctl: QctlIn, side: QctlSide): Refusal | null {
  const code = side === 'enqueue' ? checkEnqueueCtl(ctl) : checkDequeueCtl(ctl);
  return code === QME.OK ? null : { failure: code, message: `TPQCTL is not valid: ${explain(ctl, side)}` };
}

/** Which rule of spec 1.6 a structure broke, in words. */
function explain(ctl: QctlIn, side: QctlSide): string {
  const { flags } = ctl;
  const has = (bits: number): boolean => (flags & bits) === bits;
  if (side === 'enqueue') {
    if (has(TPQ.TPQTOP | TPQ.TPQBEFOREMSGID)) return 'TPQTOP and TPQBEFOREMSGID exclude each other';
    if (has(TPQ.TPQTIME_ABS | TPQ.TPQTIME_REL)) return 'TPQTIME_ABS and TPQTIME_REL exclude each other';
    if (has(TPQ.TPQPRIORITY) && (ctl.priority < LIMIT.PRIORITY_MIN || ctl.priority > LIMIT.PRIORITY_MAX)) {
      return `priority ${ctl.priority} is not in ${LIMIT.PRIORITY_MIN}..${LIMIT.PRIORITY_MAX}`;
    }
    if (has(TPQ.TPQREPLYQ) && tooLong(ctl.replyqueue)) return nameRule('replyqueue');
    if (has(TPQ.TPQFAILUREQ) && tooLong(ctl.failurequeue)) return nameRule('failurequeue');
  }
  return `flags ${qctlFlagNames(flags)}: a bit is unknown or does not go with the others, or a value it selects is out of range`;
}

function tooLong(name: string): boolean {
  // A UTF-16 unit is at most three bytes: short names need no counting.
  return (
    (name.length * 3 > LIMIT.TMQNAMELEN && Buffer.byteLength(name) > LIMIT.TMQNAMELEN) || name.includes('\0')
  );
}
function nameRule(member: string): string {
  return `${member} has at most ${LIMIT.TMQNAMELEN} bytes and no NUL`;
}
