// qredrive: messages of the error queue back to where each came from; beyond what Tuxedo has. The words of its options are checked by the space.
import { LIMIT } from '../../../proto/codes.ts';
import { REASON_WORDS } from '../../queue/provenance.ts';
import type { Parsed } from '../../queue/words.ts';
import { command } from '../command.ts';
import { RefusedError } from '../port.ts';
import { redrivenLines } from '../redriven.ts';
import { LONG_MAX, number, queueName, yesOrNo } from '../values.ts';
import { quoteWord } from '../words.ts';
import { openSpaceOf } from './space.ts';

interface RedriveCommandOptions {
  readonly t?: string;
  readonly o?: string;
  readonly e?: string;
  readonly m?: readonly string[];
  readonly l?: number;
  readonly r?: number;
  readonly d?: boolean;
}

export const qredrive = command<{ name?: string }, RedriveCommandOptions>({
  name: 'qredrive',
  abbreviations: ['qrd'],
  summary: 'move messages of the error queue, or of another, back to the queue that each came from',
  arguments: { name: { subject: 'queue name', omittable: true, parse: queueName } },
  options: {
    t: { subject: 'to_queue', parse: queueName },
    o: { subject: 'origin', parse: queueName },
    e: { subject: 'reason', parse: reason },
    m: { subject: 'msgid,…', parse: msgids },
    l: { subject: 'limit', parse: number(1, LONG_MAX) },
    r: { subject: 'messages_a_second', parse: number(1, LONG_MAX) },
    d: { subject: 'dry_run', parse: yesOrNo },
  },
  async run(shell, { name }, { t, o, e, m, l, r, d }) {
    const space = openSpaceOf(shell);
    const qname = name ?? (await space.attributes()).errorQueue;
    if (qname === '')
      throw new RefusedError(`queue space ${quoteWord(space.name)} has no error queue: name the queue`);
    const redriven = await space.redrive(qname, {
      ...(t === undefined ? {} : { to: t }),
      ...(o === undefined ? {} : { origin: o }),
      ...(e === undefined ? {} : { reason: e }),
      ...(m === undefined ? {} : { msgids: m }),
      ...(l === undefined ? {} : { limit: l }),
      ...(r === undefined ? {} : { rate: r }),
      ...(d === undefined ? {} : { dryRun: d }),
    });
    for (const line of redrivenLines(redriven, { dryRun: d === true, name: quoteWord })) shell.print(line);
  },
});

function reason(word: string): Parsed<string> {
  if (REASON_WORDS.includes(word)) return { ok: true, value: word };
  return { ok: false, legal: REASON_WORDS.join(', ') };
}

function msgids(word: string): Parsed<readonly string[]> {
  const value = word.split(',');
  const areAll = value.every((msgid) => /^[0-9a-f]{32}$/.test(msgid));
  if (areAll && value.length <= LIMIT.REDRIVE_MSGIDS) return { ok: true, value };
  return {
    ok: false,
    legal: `1..${LIMIT.REDRIVE_MSGIDS} msgids of 32 hexadecimal digits with commas between`,
  };
}
