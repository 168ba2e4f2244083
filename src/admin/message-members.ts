// Members of MSGLIST and MSGCHANGE ↔ what the engine takes and gives. Every fault says which member is wrong and what would be legal.
import { LIMIT } from '../../proto/codes.ts';
import type { MessageInfo } from '../../proto/message-admin.ts';
import type { Members } from '../../proto/message.ts';
import type { MessageView } from '../engine/message-list.ts';
import type { GivenTime, NewValues } from '../queue/command.ts';
import { CLOCK } from '../queue/event.ts';
import type { GivenCriteria, Range, TimeRange } from '../queue/selection.ts';

/** A member that is not legal. */
export class MemberFault extends Error {
  constructor(name: string, value: unknown, legal: string) {
    super(`${name}: ${JSON.stringify(value)} is not legal; legal: ${legal}`);
  }
}

const SELECTION = [
  'msgid',
  'corrid',
  'priorityFrom',
  'priorityTo',
  'persistent',
  'availableFrom',
  'availableTo',
  'expiresFrom',
  'expiresTo',
  'neverExpires',
];
const MOMENT = '+SECONDS, or seconds since 1970';
const EARLIEST: GivenTime = { clock: CLOCK.WALL, seconds: 0 };
const LATEST: GivenTime = { clock: CLOCK.WALL, seconds: 9_000_000_000_000 };
/** Characters of a piece of data. */
const PIECE = 1024;

/** Throws a MemberFault. `others`: members that the verb takes beside those of a selection. */
export function criteriaIn(members: Members, others: readonly string[]): GivenCriteria {
  const legal = [...SELECTION, ...others];
  for (const name of Object.keys(members)) {
    if (!legal.includes(name)) throw new MemberFault(name, members[name], `the members ${legal.join(', ')}`);
  }
  const { msgid, corrid, persistent, neverExpires } = members;
  if (persistent !== undefined && typeof persistent !== 'boolean')
    throw new MemberFault('persistent', persistent, 'true or false');
  if (neverExpires !== undefined && typeof neverExpires !== 'boolean')
    throw new MemberFault('neverExpires', neverExpires, 'true or false');
  if (msgid !== undefined && (typeof msgid !== 'string' || !/^[0-9a-f]{32}$/.test(msgid)))
    throw new MemberFault('msgid', msgid, '32 hexadecimal digits');
  if (corrid !== undefined && (typeof corrid !== 'string' || !/^[0-9a-f]{64}$/.test(corrid)))
    throw new MemberFault('corrid', corrid, '64 hexadecimal digits');
  const expires = momentsIn(members, 'expiresFrom', 'expiresTo');
  if (neverExpires === true && expires !== null)
    throw new MemberFault('neverExpires', true, 'true only without expiresFrom and expiresTo');
  return {
    msgid: msgid === undefined ? null : Buffer.from(msgid),
    corrid: corrid === undefined ? null : Buffer.from(corrid, 'hex'),
    priority: prioritiesIn(members),
    persistent: persistent ?? null,
    available: momentsIn(members, 'availableFrom', 'availableTo'),
    expiry: neverExpires === true ? 'none' : expires,
  };
}

function prioritiesIn(members: Members): Range | null {
  const given = [members['priorityFrom'], members['priorityTo']];
  if (given.every((value) => value === undefined)) return null;
  const from = priorityIn(given[0] ?? 1, 'priorityFrom');
  return { from, to: priorityIn(given[1] ?? 100, 'priorityTo') };
}

function priorityIn(value: Members[string], name: string): number {
  if (typeof value === 'number' && value >= 1 && value <= 100) return value;
  throw new MemberFault(name, value, 'a number 1..100');
}

function momentsIn(members: Members, first: string, last: string): TimeRange | null {
  const [from, to] = [members[first], members[last]];
  if (from === undefined && to === undefined) return null;
  return {
    from: from === undefined ? EARLIEST : momentIn(from, first),
    to: to === undefined ? LATEST : momentIn(to, last),
  };
}

function momentIn(value: Members[string], name: string, also = ''): GivenTime {
  const match = typeof value === 'string' ? /^(\+?)(\d{1,13})$/.exec(value) : null;
  if (match === null) throw new MemberFault(name, value, `${also}${MOMENT}`);
  return { clock: match[1] === '+' ? CLOCK.SPACE : CLOCK.WALL, seconds: Number(match[2]) };
}

/** What MSGCHANGE is to do; a move only names the queue. */
export type ActionIn =
  { kind: 'delete' } | { kind: 'values'; values: NewValues } | { kind: 'move'; to: string };
export const ACTION_MEMBERS = ['action', 'priority', 'time', 'expiry', 'queue'];

export function actionIn({ action, priority, time, expiry, queue }: Members): ActionIn {
  switch (action) {
    case 'delete':
      return { kind: 'delete' };
    case 'priority':
      return { kind: 'values', values: { priority: priorityIn(priority ?? '', 'priority') } };
    case 'time':
      return { kind: 'values', values: { availability: momentIn(time ?? '', 'time') } };
    case 'expiry': {
      const value = expiry === 'none' ? expiry : momentIn(expiry ?? '', 'expiry', 'none, ');
      return { kind: 'values', values: { expiry: value } };
    }
    case 'move':
      if (typeof queue === 'string' && queue !== '') return { kind: 'move', to: queue };
      throw new MemberFault('queue', queue ?? '', 'the name of a queue');
    default:
      throw new MemberFault('action', action ?? '', 'delete, priority, time, expiry or move');
  }
}

export interface PageIn {
  readonly cursor: string;
  readonly limit: number;
  readonly dataBytes: number;
}
export const PAGE_MEMBERS = ['cursor', 'limit', 'dataBytes'];

export function pageIn({ cursor = '', limit = LIMIT.PAGE_DEFAULT, dataBytes = 0 }: Members): PageIn {
  if (typeof cursor !== 'string') throw new MemberFault('cursor', cursor, 'what an answer of MSGLIST gave');
  if (typeof limit !== 'number' || limit < 1 || limit > LIMIT.PAGE_MAX)
    throw new MemberFault('limit', limit, `a number 1..${LIMIT.PAGE_MAX}`);
  if (typeof dataBytes !== 'number' || dataBytes < 0 || dataBytes > LIMIT.PEEK_BYTES)
    throw new MemberFault('dataBytes', dataBytes, `a number 0..${LIMIT.PEEK_BYTES}`);
  return { cursor, limit: Math.min(limit, messagesInPage(dataBytes)), dataBytes };
}

/** All members of a message without its data: names, texts of the longest, numbers. */
const MESSAGE_BYTES_MAX = 1100;

/** As many as surely fit in an answer; at least one. */
function messagesInPage(dataBytes: number): number {
  const pieces = Math.ceil((2 * dataBytes) / PIECE);
  return Math.max(1, Math.floor(LIMIT.PAGE_BYTES / (MESSAGE_BYTES_MAX + 2 * dataBytes + 5 * pieces)));
}

export function messageMembers(view: MessageView): Members & MessageInfo {
  const { contents, corrid, origin, availableMs, expiresMs } = view;
  const hex = Buffer.from(contents?.data ?? []).toString('hex');
  return {
    msgid: Buffer.from(view.msgid).toString(),
    state: view.state,
    priority: view.priority,
    retries: view.retries,
    persistent: view.persistent,
    corrid: corrid === null ? '' : Buffer.from(corrid).toString('hex'),
    available: Number.isNaN(availableMs) ? -1 : Math.round(availableMs),
    expires: expiresMs === Infinity ? -1 : Math.round(expiresMs),
    originQueue: origin?.queue ?? '',
    reason: origin?.reason ?? '',
    code: origin?.code ?? '',
    moved: origin === null ? -1 : Math.round(origin.atMs),
    moves: origin?.count ?? 0,
    damaged: contents === null,
    type: contents?.type ?? '',
    subtype: contents?.subtype ?? '',
    length: contents?.dataBytes ?? 0,
    replyQos: contents?.replyQos ?? 0,
    replyqueue: contents?.replyqueue ?? '',
    failurequeue: contents?.failurequeue ?? '',
    appkey: contents?.appkey ?? 0,
    urcode: contents?.urcode ?? 0,
    data: hex.match(/.{1,1024}/g) ?? [],
  };
}
