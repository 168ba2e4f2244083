// A message as a line of JSON, as export writes and import reads it [docs/export.md]: the members of TPQCTL by their names, and the data as text
// where it is text. Pure. Invariant: what lineOf writes, parseMessage reads back to the same message; what it refuses is told with the member and
// what would be right.
import { isUtf8 } from 'node:buffer';
import { LIMIT } from '../../proto/codes.ts';
import { type Received, TPQ, TPQCTL, typed, type TypedBuffer } from '../../clients/typescript/index.ts';
import { showId } from './input.ts';

export interface ParsedMessage {
  /** For tpenqueue. */
  readonly ctl: TPQCTL;
  readonly buffer: TypedBuffer | null;
  /** As it was in the queue that it comes from; '' when the line says none. */
  readonly msgid: string;
}

export type Parsed =
  { readonly ok: true; readonly value: ParsedMessage } | { readonly ok: false; readonly fault: string };

/** Everything that a dequeue tells. */
export const OUTPUTS =
  TPQ.TPQMSGID |
  TPQ.TPQCORRID |
  TPQ.TPQPRIORITY |
  TPQ.TPQREPLYQ |
  TPQ.TPQFAILUREQ |
  TPQ.TPQDELIVERYQOS |
  TPQ.TPQREPLYQOS;

const QOS: Readonly<Record<string, number>> = { default: 1, persist: 2, nonpersist: 4 };
const ID_BYTES = 32;
const SHOWN_MAX = 60;

/** What was received as bytes (`raw`), without the line's end. */
export function lineOf(ctl: TPQCTL, { data, type, subtype }: Received): string {
  const has = (bit: number): boolean => (ctl.flags & bit) !== 0;
  return JSON.stringify({
    msgid: ctl.msgid === null ? '' : showId(ctl.msgid),
    ...(has(TPQ.TPQCORRID) && ctl.corrid instanceof Uint8Array ? { corrid: showId(ctl.corrid) } : {}),
    ...(has(TPQ.TPQPRIORITY) ? { priority: ctl.priority } : {}),
    ...(has(TPQ.TPQREPLYQ) ? { replyqueue: ctl.replyqueue } : {}),
    ...(has(TPQ.TPQFAILUREQ) ? { failurequeue: ctl.failurequeue } : {}),
    ...(has(TPQ.TPQDELIVERYQOS) ? { delivery_qos: qosWord(ctl.delivery_qos) } : {}),
    ...(has(TPQ.TPQREPLYQOS) ? { reply_qos: qosWord(ctl.reply_qos) } : {}),
    ...(ctl.urcode === 0 ? {} : { urcode: ctl.urcode }),
    ...(ctl.cltid === null ? {} : { cltid: Buffer.from(ctl.cltid).toString('hex') }),
    appkey: ctl.appkey,
    ...(data instanceof Uint8Array ? { type, ...(subtype === '' ? {} : { subtype }), ...dataOf(data) } : {}),
  });
}

function qosWord(qos: number): string {
  return Object.keys(QOS).find((word) => QOS[word] === qos) ?? `${qos}`;
}

/** Text where it comes back as the same bytes. */
function dataOf(data: Uint8Array): { text: string } | { base64: string } {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { base64: bytes.toString('base64') };
}

/** What a member must be; null: it is right. */
type Rule = (value: unknown) => string | null;

const text =
  (legal: string, fits: (value: string) => boolean): Rule =>
  (value) =>
    typeof value === 'string' && fits(value) ? null : legal;
const whole =
  (min: number, max: number, legal: string): Rule =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max ? null : legal;
const bytesWithin = (max: number) => (value: string) => Buffer.byteLength(value) <= max;
const name = text(
  `1..${LIMIT.TMQNAMELEN} bytes without NUL`,
  (value) => value !== '' && Buffer.byteLength(value) <= LIMIT.TMQNAMELEN && !value.includes('\0'),
);
const seconds = whole(0, Number.MAX_SAFE_INTEGER, 'seconds since 1970, a whole number, 0 or more');
const qos = text('default, persist or nonpersist', (value) => Object.hasOwn(QOS, value));

const RULES: Readonly<Record<string, Rule>> = {
  msgid: text(
    '1..32 bytes of text, or 0x and 64 hexadecimal digits',
    (value) => isHexId(value) || (value !== '' && !value.startsWith('0x') && bytesWithin(ID_BYTES)(value)),
  ),
  corrid: text(
    'at most 32 bytes of text, or 0x and 64 hexadecimal digits',
    (value) => isHexId(value) || (!value.startsWith('0x') && Buffer.byteLength(value) <= ID_BYTES),
  ),
  priority: whole(
    LIMIT.PRIORITY_MIN,
    LIMIT.PRIORITY_MAX,
    `a whole number ${LIMIT.PRIORITY_MIN}..${LIMIT.PRIORITY_MAX}`,
  ),
  replyqueue: name,
  failurequeue: name,
  delivery_qos: qos,
  reply_qos: qos,
  urcode: whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 'a whole number'),
  deq_time: seconds,
  exp_time: seconds,
  // These two tell who enqueued the message at first; a daemon fills them in itself.
  cltid: text('32 hexadecimal digits', (value) => /^[0-9a-f]{32}$/.test(value)),
  appkey: whole(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 'a whole number'),
  type: text(`1..${LIMIT.TYPE_NAME} bytes`, (value) => value !== '' && bytesWithin(LIMIT.TYPE_NAME)(value)),
  subtype: text(`at most ${LIMIT.SUBTYPE_NAME} bytes`, bytesWithin(LIMIT.SUBTYPE_NAME)),
  text: text('a text that is not empty', (value) => value !== ''),
  base64: text(
    'bytes in base64, not none',
    (value) => value !== '' && Buffer.from(value, 'base64').toString('base64') === value,
  ),
};

export function parseMessage(line: string): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return wrong(`no JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return wrong('legal: one JSON object a line');
  const members: Readonly<Record<string, unknown>> = { ...value };
  for (const [member, given] of Object.entries(members)) {
    const rule = Object.hasOwn(RULES, member) ? RULES[member] : undefined;
    if (rule === undefined)
      return wrong(`${shown(member)} is no member; legal: ${Object.keys(RULES).join(', ')}`);
    const legal = rule(given);
    if (legal !== null) return wrong(`${member}: ${shown(given)} is not legal; legal: ${legal}`);
  }
  const { text: dataText, base64, type, subtype } = members;
  if (dataText !== undefined && base64 !== undefined)
    return wrong('text and base64 are both given; legal: one of them');
  const hasData = dataText !== undefined || base64 !== undefined;
  if (hasData && type === undefined)
    return wrong('type is not given; legal: type, where there is text or base64');
  if (!hasData && (type !== undefined || subtype !== undefined))
    return wrong('there is no data; legal: text or base64, where there is type or subtype');
  return {
    ok: true,
    value: {
      ctl: ctlOf(members),
      buffer: hasData ? bufferOf(members) : null,
      msgid: asText(members['msgid']),
    },
  };
}

function bufferOf(members: Readonly<Record<string, unknown>>): TypedBuffer {
  const { type, subtype, text: dataText, base64 } = members;
  const bytes =
    dataText === undefined ? Buffer.from(asText(base64), 'base64') : Buffer.from(asText(dataText));
  return typed(asText(type), asText(subtype), bytes);
}

/** Members have been checked before; '' for one that is not there. */
function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function ctlOf(members: Readonly<Record<string, unknown>>): TPQCTL {
  const ctl = new TPQCTL({ flags: TPQ.TPQMSGID });
  const given = <T>(member: string, bit: number, take: (value: unknown) => T): T | undefined => {
    if (members[member] === undefined) return undefined;
    ctl.flags |= bit;
    return take(members[member]);
  };
  ctl.corrid = given('corrid', TPQ.TPQCORRID, (value) => idOf(asText(value))) ?? null;
  ctl.priority = given('priority', TPQ.TPQPRIORITY, Number) ?? 0;
  ctl.replyqueue = given('replyqueue', TPQ.TPQREPLYQ, asText) ?? '';
  ctl.failurequeue = given('failurequeue', TPQ.TPQFAILUREQ, asText) ?? '';
  ctl.delivery_qos = given('delivery_qos', TPQ.TPQDELIVERYQOS, (value) => QOS[asText(value)] ?? 0) ?? 0;
  ctl.reply_qos = given('reply_qos', TPQ.TPQREPLYQOS, (value) => QOS[asText(value)] ?? 0) ?? 0;
  ctl.deq_time = given('deq_time', TPQ.TPQTIME_ABS, Number) ?? 0;
  ctl.exp_time = given('exp_time', TPQ.TPQEXPTIME_ABS, Number) ?? 0;
  ctl.urcode = given('urcode', 0, Number) ?? 0;
  return ctl;
}

/** A msgid or corrid as showId has shown it. */
export function idOf(shownId: string): Uint8Array {
  if (isHexId(shownId)) return Buffer.from(shownId.slice(2), 'hex');
  const bytes = Buffer.alloc(ID_BYTES);
  bytes.write(shownId);
  return bytes;
}

function isHexId(value: string): boolean {
  return /^0x[0-9a-fA-F]{64}$/.test(value);
}

function wrong(fault: string): Parsed {
  return { ok: false, fault };
}

function shown(value: unknown): string {
  const all = JSON.stringify(value) ?? '';
  return all.length <= SHOWN_MAX ? all : `${all.slice(0, SHOWN_MAX)}…`;
}
