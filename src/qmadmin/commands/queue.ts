// Queues of the open space: qcreate, qchange, qinfo [spec 5.2, 5.4, 5.7].
import { QUEUE_DEFAULTS, type QueueAttributes } from '../../queue/attributes.ts';
import { parseExpiry, parseOrder, parseOutOfOrder, parseThreshold } from '../../queue/words.ts';
import { thresholdProblem, type Threshold } from '../../queue/words.ts';
import { command, FLAG, type Arguments, type Options, type Shell } from '../command.ts';
import { printJson } from '../listing.ts';
import { RefusedError, type QueueChanges, type QueueView } from '../port.ts';
import {
  highLimit,
  LONG_MAX,
  nonPersistentThreshold,
  number,
  policy,
  queueName,
  thresholdCommand,
  type NonPersistentThreshold,
} from '../values.ts';
import { quoteWord } from '../words.ts';
import { openSpaceOf } from './space.ts';

/** What qcreate and qchange both ask. */
interface QueueAnswers {
  readonly name: string;
  readonly outoforder: string;
  readonly retries: number;
  readonly delay: number;
  readonly high: Threshold;
  readonly low: Threshold;
  readonly cmd: string;
}

interface QueueOptions {
  readonly d?: 'persist' | 'nonpersist';
  readonly e?: number | null;
  readonly n?: NonPersistentThreshold;
}

const NAME = { name: { subject: 'queue name', parse: queueName } } as const;
const EXISTING = { name: { ...NAME.name, completes: 'queue' } } as const;
const LIMIT_CHOICES = 'number with b bytes, B blocks, m messages or %';
const REST: Arguments<Omit<QueueAnswers, 'name'>> = {
  outoforder: {
    subject: 'out-of-order enqueuing',
    choices: 'none, top, msgid, or top,msgid',
    fallback: 'none',
    parse: parseOutOfOrder,
  },
  retries: { subject: 'retries', fallback: '0', parse: number(0, LONG_MAX) },
  delay: { subject: 'retry delay in seconds', fallback: '0', parse: retryDelay },
  high: { subject: 'high limit', choices: LIMIT_CHOICES, fallback: '100%', parse: highLimit },
  // A bare 0 goes with every high limit; a default of 0% would not.
  low: { subject: 'low limit', choices: LIMIT_CHOICES, fallback: '0', parse: parseThreshold },
  cmd: { subject: 'threshold command', fallback: '', parse: thresholdCommand },
};
const OPTIONS: Options<QueueOptions> = {
  d: { subject: 'persist|nonpersist', parse: policy },
  n: { subject: 'nhigh,nlow,ncmd', parse: nonPersistentThreshold },
  e: { subject: 'default_expiry', parse: parseExpiry },
};

function retryDelay(word: string): ReturnType<ReturnType<typeof number>> {
  const parsed = number(0, LONG_MAX, 'seconds')(word);
  return parsed.ok ? parsed : { ok: false, legal: `${parsed.legal} (1201)` };
}

export const qcreate = command<QueueAnswers & { order: string }, QueueOptions>({
  name: 'qcreate',
  abbreviations: ['qcr'],
  summary: 'create a queue in the open space',
  arguments: {
    ...NAME,
    order: {
      subject: 'queue order',
      choices: 'priority, time, expiration, fifo, lifo',
      fallback: 'fifo',
      parse: parseOrder,
    },
    ...REST,
  },
  options: OPTIONS,
  async run(shell, answers, options) {
    const space = openSpaceOf(shell);
    const { name, order } = answers;
    const queues = await space.queues();
    if (queues.some(({ attributes }) => attributes.name === name)) {
      throw new RefusedError(`queue ${quoteWord(name)} exists already; nothing was changed (1216)`);
    }
    const { queues: most } = await space.attributes();
    if (most > 0 && queues.length >= most) {
      throw new RefusedError(
        `queue space ${quoteWord(space.name)} was created for ${most} queues and has them (1216)`,
      );
    }
    await space.createQueue({ ...QUEUE_DEFAULTS, name, order, ...changesIn(answers, options) });
    shell.tell(`queue ${quoteWord(name)} was created`);
  },
});

export const qchange = command<QueueAnswers, QueueOptions>({
  name: 'qchange',
  abbreviations: ['qch'],
  summary: 'change a queue of the open space; its order stays',
  arguments: { ...EXISTING, ...REST },
  options: OPTIONS,
  async run(shell, answers, options) {
    await queueOf(shell, answers.name);
    await openSpaceOf(shell).changeQueue(answers.name, changesIn(answers, options));
    shell.tell(`queue ${quoteWord(answers.name)} was changed`);
  },
});

function changesIn(answers: QueueAnswers, options: QueueOptions): QueueChanges {
  const { outoforder, retries, delay, high, low, cmd } = answers;
  checkLimits(high, low, 'limits');
  const { d, e, n } = options;
  if (n !== undefined) checkLimits(n.high, n.low, '-n');
  return {
    outOfOrder: outoforder,
    retries,
    delayS: delay,
    high: limitText(high),
    low: limitText(low, high),
    cmd,
    ...(d === undefined ? {} : { policy: d }),
    ...(e === undefined ? {} : { expiryS: e ?? -1 }),
    ...(n === undefined
      ? {}
      : {
          nonPersistentHigh: limitText(n.high),
          nonPersistentLow: limitText(n.low, n.high),
          nonPersistentCmd: n.cmd,
        }),
  };
}

function checkLimits(high: Threshold, low: Threshold, what: string): void {
  const problem = thresholdProblem(high, low);
  if (problem === undefined) return;
  const code = low.unit === high.unit || low.unit === '' ? 1212 : 1210;
  throw new RefusedError(`${what} ${limitText(high)} and ${limitText(low)}: ${problem} (${code})`);
}

/** A bare 0 is written with the unit of the high limit. */
function limitText({ amount, unit }: Threshold, high?: Threshold): string {
  return `${amount}${unit === '' && high !== undefined ? high.unit : unit}`;
}

export const qinfo = command<{ name?: string }, object>({
  name: 'qinfo',
  abbreviations: ['qi'],
  summary: 'count the messages of every queue of the open space, or of one; verbose adds how it was created',
  arguments: { name: { ...EXISTING.name, omittable: true } },
  options: {},
  async run(shell, { name }) {
    const views = name === undefined ? await openSpaceOf(shell).queues() : [await queueOf(shell, name)];
    for (const view of views) {
      if (shell.json) {
        printJson(shell, jsonOf(view, shell.verbose));
        continue;
      }
      shell.print(summaryOf(view));
      if (shell.verbose) for (const line of parametersOf(view.attributes)) shell.print(`  ${line}`);
    }
  },
});

export const qdestroy = command<{ name: string }, { p?: boolean; f?: boolean; y?: boolean }>({
  name: 'qdestroy',
  abbreviations: ['qds'],
  summary: 'destroy an empty queue; -p with its messages; -f also in a space that a daemon serves',
  arguments: EXISTING,
  options: { p: FLAG, f: FLAG, y: FLAG },
  async run(shell, { name }, { p: purge = false, f: force = false, y = false }) {
    if (purge && force) throw new RefusedError('-p and -f exclude each other: -f does what -p does');
    const space = openSpaceOf(shell);
    const { persistentMessages, nonPersistentMessages } = await queueOf(shell, name);
    if (space.isServed && !force) {
      throw new RefusedError(
        `queue space ${quoteWord(space.name)} is in use: a daemon serves it; -f destroys the queue all the same, with what is on it`,
      );
    }
    const what = `queue ${quoteWord(name)} with ${persistentMessages + nonPersistentMessages} messages`;
    if (!y && !(await shell.confirm(`destroy ${what}`))) return;
    const count = await space.destroyQueue(name, purge || force);
    shell.tell(`queue ${quoteWord(name)} was destroyed with ${count} messages`);
  },
});

/** Only one way; without it: both. */
type Direction = 'enq' | 'deq';
const PAUSING: Arguments<{ name: string; direction?: Direction }> = {
  ...EXISTING,
  direction: {
    subject: 'direction',
    choices: 'enq, deq',
    omittable: true,
    completes: ['enq', 'deq'],
    parse: (word) =>
      word === 'enq' || word === 'deq' ? { ok: true, value: word } : { ok: false, legal: 'enq or deq' },
  },
};

async function setPaused(
  shell: Shell,
  { name, direction }: { name: string; direction?: Direction },
  paused: boolean,
): Promise<void> {
  await queueOf(shell, name);
  await openSpaceOf(shell).changeQueue(name, {
    ...(direction === 'deq' ? {} : { enqueuePaused: paused }),
    ...(direction === 'enq' ? {} : { dequeuePaused: paused }),
  });
  const ways = { enq: 'for enqueue', deq: 'for dequeue' };
  const way = direction === undefined ? 'both ways' : ways[direction];
  shell.tell(`queue ${quoteWord(name)} is ${paused ? 'closed' : 'open'} ${way}`);
}

export const qpause = command<{ name: string; direction?: Direction }, object>({
  name: 'qpause',
  abbreviations: [],
  summary: 'close a queue for enqueue, dequeue or both, until qresume; calls that way fail with QMESHARE',
  arguments: PAUSING,
  options: {},
  run: (shell, answers) => setPaused(shell, answers, true),
});

export const qresume = command<{ name: string; direction?: Direction }, object>({
  name: 'qresume',
  abbreviations: [],
  summary: 'open it again, for enqueue, dequeue or both',
  arguments: PAUSING,
  options: {},
  run: (shell, answers) => setPaused(shell, answers, false),
});

async function queueOf(shell: Shell, name: string): Promise<QueueView> {
  const space = openSpaceOf(shell);
  const found = await space.queue(name);
  if (found !== undefined) return found;
  throw new RefusedError(`queue space ${quoteWord(space.name)} has no queue ${quoteWord(name)}`);
}

function jsonOf({ attributes, ...counts }: QueueView, verbose: boolean): object {
  return { queue: attributes.name, ...counts, ...(verbose ? attributes : {}) };
}

/** Scripts take the third field of the line that contains `NAME:` [spec 5.7]. */
function summaryOf(view: QueueView): string {
  const { attributes, persistentMessages, pages, nonPersistentMessages, nonPersistentBytes } = view;
  return (
    `Queue ${quoteWord(attributes.name)}: ${persistentMessages} persistent messages in ${pages} pages, ` +
    `${nonPersistentMessages} non-persistent messages in ${nonPersistentBytes} bytes`
  );
}

/** No line has the word by which scripts find the summaries. */
function parametersOf(attributes: QueueAttributes): string[] {
  const { order, outOfOrder, retries, delayS, high, low, cmd, expiryS } = attributes;
  const { nonPersistentHigh, nonPersistentLow, nonPersistentCmd, enqueuePaused, dequeuePaused } = attributes;
  const paused = [...(enqueuePaused ? ['enqueue'] : []), ...(dequeuePaused ? ['dequeue'] : [])];
  return [
    `order: ${order}`,
    `out-of-order enqueuing: ${outOfOrder}`,
    `retries: ${retries}`,
    `retry delay: ${delayS} seconds`,
    `limits: high ${high}, low ${low}, command ${commandText(cmd)}`,
    `non-persistent limits: high ${nonPersistentHigh}, low ${nonPersistentLow}, command ${commandText(nonPersistentCmd)}`,
    `delivery policy: ${attributes.policy}`,
    `expiry: ${expiryS < 0 ? 'none' : `${expiryS} seconds`}`,
    `paused: ${paused.length === 0 ? 'no' : paused.join(', ')}`,
  ];
}

function commandText(cmd: string): string {
  return cmd === '' ? 'none' : quoteWord(cmd);
}
