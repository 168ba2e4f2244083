// QREDRIVE: messages of an error queue go back to where each came from. Owns the check of its members' types and the members of the answer; the
// engine does the work. Must not know who asked.
import { LIMIT } from '../../proto/codes.ts';
import { membersBytesMax } from '../../proto/members.ts';
import type { Members, MemberValue } from '../../proto/message.ts';
import { REDRIVE_COUNTS, type RedriveOptions } from '../../proto/redrive.ts';
import type { RedriveResult } from '../engine/redrive.ts';

type Kind = 'text' | 'count' | 'switch' | 'msgids';
const KINDS: Readonly<Record<keyof RedriveOptions, Kind>> = {
  to: 'text',
  origin: 'text',
  reason: 'text',
  msgids: 'msgids',
  limit: 'count',
  rate: 'count',
  dryRun: 'switch',
};
const LEGAL: Readonly<Record<Kind, string>> = {
  text: 'a text that is not empty',
  count: 'a number from 1 on',
  switch: 'true or false',
  msgids: `a list of 1 to ${LIMIT.REDRIVE_MSGIDS} msgids of ${LIMIT.TMMSGIDLEN} characters`,
};

/** What is asked for; or a text that says what is wrong with it. */
export function redriveOptions(members: Members): RedriveOptions | string {
  for (const [name, value] of Object.entries(members)) {
    if (!isOption(name)) return `${name} is no member of this verb; legal: ${Object.keys(KINDS).join(', ')}`;
    const kind = KINDS[name];
    if (!isOf(kind, value))
      return `${name}: ${JSON.stringify(value).slice(0, 60)} is not legal; legal: ${LEGAL[kind]}`;
  }
  return members;
}

export function redriveReply({ end, moved, stayed, tallies }: RedriveResult): {
  members: Members;
  items: Members[];
} {
  const counts = Object.fromEntries(REDRIVE_COUNTS.map((name) => [name, stayed[name]]));
  const items: Members[] = [];
  let bytes = 0;
  for (const { queue, outcome, count } of tallies.toSorted((a, b) => b.count - a.count)) {
    const item = { queue, outcome, count };
    bytes += membersBytesMax(item);
    if (bytes > LIMIT.PAGE_BYTES) break;
    items.push(item);
  }
  return { members: { end, moved, ...counts, more: items.length < tallies.length }, items };
}

function isOption(name: string): name is keyof RedriveOptions {
  return Object.hasOwn(KINDS, name);
}

function isOf(kind: Kind, value: MemberValue): boolean {
  switch (kind) {
    case 'text':
      return typeof value === 'string' && value !== '';
    case 'count':
      return typeof value === 'number' && value >= 1;
    case 'switch':
      return typeof value === 'boolean';
    default:
      return areMsgids(value);
  }
}

function areMsgids(value: MemberValue): boolean {
  if (!Array.isArray(value) || value.length < 1 || value.length > LIMIT.REDRIVE_MSGIDS) return false;
  return value.every((msgid) => typeof msgid === 'string' && msgid.length === LIMIT.TMMSGIDLEN);
}
