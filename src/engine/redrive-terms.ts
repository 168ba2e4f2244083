// What is asked of a redrive, in words, and what the engine is to do: queues by name, reasons by their word, msgids as they are shown. And what
// came of it, as a line for a log.
import { QME, type Qme } from '../../proto/codes.ts';
import { parseMsgid, type MessageId } from '../queue/message.ts';
import { REASON_WORDS, reasonOfWord } from '../queue/provenance.ts';
import type { Queue } from '../queue/queue.ts';
import type { QueueSpace } from '../queue/space.ts';
import type { RedriveResult, RedriveTerms, Stay } from './redrive.ts';

/** What is not given selects nothing and limits nothing. */
export interface RedriveAsked {
  /** A queue, instead of where each came from. */
  readonly to?: string;
  /** Name of the queue that they came from. */
  readonly origin?: string;
  readonly reason?: string;
  /** 32 characters each. */
  readonly msgids?: readonly string[];
  readonly limit?: number;
  /** Messages a second. */
  readonly rate?: number;
  readonly dryRun?: boolean;
}

export interface NotRedriven {
  readonly code: Qme;
  readonly message: string;
}

export function redriveTerms(
  space: QueueSpace,
  source: Queue,
  asked: RedriveAsked,
): RedriveTerms | NotRedriven {
  const { to, origin = null, limit = Infinity, rate = Infinity, dryRun = false } = asked;
  const target = to === undefined ? null : space.queue(to);
  if (target === undefined)
    return { code: QME.QMEBADQUEUE, message: `to: there is no queue ${to} in queue space ${space.name}` };
  if (target === source)
    return { code: QME.QMEINVAL, message: `to: ${to} is the queue that is redriven; name another, or none` };
  const reason = asked.reason === undefined ? null : reasonOfWord(asked.reason);
  if (reason === undefined) {
    const message = `reason: ${JSON.stringify(asked.reason)} is not legal; legal: ${REASON_WORDS.join(', ')}`;
    return { code: QME.QMEINVAL, message };
  }
  const ids: MessageId[] = [];
  for (const msgid of asked.msgids ?? []) {
    const id = parseMsgid(space.spaceId, new TextEncoder().encode(msgid));
    if (id === null)
      return { code: QME.QMEBADMSGID, message: `msgids: ${msgid} is no msgid of queue space ${space.name}` };
    ids.push(id);
  }
  return {
    source,
    target,
    ids: asked.msgids === undefined ? null : ids,
    origin,
    reason,
    limit,
    rate,
    dryRun,
  };
}

const STAYS: Readonly<Record<Stay, string>> = {
  unknown: 'it is not known where they came from',
  gone: 'the queue they came from was destroyed',
  paused: 'the queue they go to is paused',
  noRoom: 'the log has no room',
  here: 'they came from this very queue',
  held: 'transactions hold them',
  missing: 'they are not on the queue',
};

export function redriveText({ end, moved, stayed }: RedriveResult, dryRun: boolean): string {
  const left = Object.entries(STAYS).map(([why, text]) => ({ count: stayed[why as Stay], text }));
  const stays = left.filter(({ count }) => count > 0).map(({ count, text }) => `; ${count} stay: ${text}`);
  return `${dryRun ? 'would be redriven' : 'redriven'} (${end}): ${moved} messages${stays.join('')}`;
}
