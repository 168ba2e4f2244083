// What is done to the selected messages: qdeletemsg, qchangeprio, qchangequeue, qchangetime, qchangeexptime [spec 5.2].
import type { GivenTime } from '../../queue/command.ts';
import { command, FLAG, type Shell } from '../command.ts';
import { printJson } from '../listing.ts';
import type { ChangeOrder } from '../port.ts';
import { momentChoices, parseExpiryMoment, parseMoment } from '../times.ts';
import { number, queueName } from '../values.ts';
import { quoteWord } from '../words.ts';
import { meantBy, sayNothingMatches } from './messages.ts';

interface Confirmed {
  readonly y?: boolean;
}
const CONFIRMED = { y: FLAG } as const;

interface Change {
  readonly change: ChangeOrder['change'];
  /** In the infinitive, as the question has it, and as what was done. */
  readonly words: readonly [string, string];
  /** Number of the line that nothing matches. */
  readonly nothing: number;
}

async function changeMessages(
  shell: Shell,
  { y = false }: Confirmed,
  { change, words, nothing }: Change,
): Promise<void> {
  const { space, queue, criteria } = meantBy(shell);
  const [infinitive, done] = words;
  if (!y && !(await shell.confirm(`${infinitive} the selected messages of queue ${quoteWord(queue)}`)))
    return;
  const { changed, held } = await space.changeMessages({ queue, criteria, change });
  if (shell.json) return printJson(shell, { changed, held });
  if (changed + held === 0) return sayNothingMatches(shell, queue, nothing);
  const left = held === 0 ? '' : `; ${held} held by a transaction, left`;
  return shell.print(`${changed} ${changed === 1 ? 'message' : 'messages'} ${done}${left}`);
}

export const qdeletemsg = command<object, Confirmed>({
  name: 'qdeletemsg',
  abbreviations: ['qdltm'],
  summary: 'delete the selected messages of the set queue',
  arguments: {},
  options: CONFIRMED,
  run: (shell, _, options) =>
    changeMessages(shell, options, {
      change: { kind: 'delete' },
      words: ['delete', 'deleted'],
      nothing: 1410,
    }),
});

export const qchangeprio = command<{ newprio: number }, Confirmed>({
  name: 'qchangeprio',
  abbreviations: ['qcp'],
  summary: 'give the selected messages another priority',
  arguments: { newprio: { subject: 'new priority', choices: '1..100', parse: number(1, 100) } },
  options: CONFIRMED,
  run: (shell, { newprio: priority }, options) =>
    changeMessages(shell, options, {
      change: { kind: 'values', values: { priority } },
      words: ['change the priority of', 'changed'],
      nothing: 1407,
    }),
});

export const qchangequeue = command<{ newqueue: string }, Confirmed>({
  name: 'qchangequeue',
  abbreviations: ['qcq'],
  summary: 'move the selected messages to another queue of the space; they get new msgids',
  arguments: { newqueue: { subject: 'new queue name', parse: queueName } },
  options: CONFIRMED,
  async run(shell, { newqueue }, options) {
    const { queue } = meantBy(shell);
    if (newqueue === queue) {
      shell.warn(`queue ${quoteWord(queue)} is where the messages are; nothing was done`);
      return;
    }
    const words = [`move to queue ${quoteWord(newqueue)}`, `moved to queue ${quoteWord(newqueue)}`] as const;
    await changeMessages(shell, options, { change: { kind: 'move', to: newqueue }, words, nothing: 1407 });
  },
});

export const qchangetime = command<{ newtime: GivenTime }, Confirmed>({
  name: 'qchangetime',
  abbreviations: ['qct'],
  summary: 'change from when on the selected messages are available',
  arguments: { newtime: { subject: 'new time', choices: momentChoices, parse: parseMoment } },
  options: CONFIRMED,
  run: (shell, { newtime: availability }, options) =>
    changeMessages(shell, options, {
      change: { kind: 'values', values: { availability } },
      words: ['change the time of', 'changed'],
      nothing: 1407,
    }),
});

export const qchangeexptime = command<{ newtime: GivenTime | 'none' }, Confirmed>({
  name: 'qchangeexptime',
  abbreviations: ['qcet'],
  summary: 'change when the selected messages expire; +0 removes them at once',
  arguments: {
    newtime: { subject: 'new expiration time', choices: `none, ${momentChoices}`, parse: parseExpiryMoment },
  },
  options: CONFIRMED,
  run: (shell, { newtime: expiry }, options) =>
    changeMessages(shell, options, {
      change: { kind: 'values', values: { expiry } },
      words: ['change the expiration of', 'changed'],
      nothing: 1407,
    }),
});
