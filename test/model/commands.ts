// What the model test does to a queue space: commands as plain values, how they are drawn, and each as one line. They name messages, requests
// and transactions by number, so that a shortened list still means something. They know neither the model nor the engine.
import fc from 'fast-check';
import { QME } from '../../proto/codes.ts';

export const QUEUES = ['A', 'B', 'C', 'D'] as const;
export const ORDERS = [
  'fifo',
  'lifo',
  'priority,fifo',
  'time,fifo',
  'expiration,fifo',
  'priority,time,lifo',
  'expiration,priority,fifo',
  'time,lifo',
] as const;

/** Seconds: on the wall clock from now (rounded down to a second), or counted from now. */
export interface When {
  readonly clock: 'wall' | 'space';
  readonly seconds: number;
}

/** A message by number: of those on the queue, of those the transaction has put there, of all there ever were; or bytes that are no id. */
export interface Ref {
  readonly of: 'queue' | 'own' | 'ever' | 'foreign';
  readonly n: number;
}

export interface Letter {
  readonly priority: number | null;
  /** 0: none. */
  readonly corrid: number;
  readonly replyqueue: string;
  readonly failurequeue: string;
  readonly deliveryQos: number;
  readonly replyQos: number;
  /** '': no data. */
  readonly type: '' | 'STRING' | 'MYTYPE';
  readonly bytes: number;
}

export interface QueueTerms {
  readonly name: string;
  readonly order: string;
  readonly outOfOrder: string;
  readonly retries: number;
  readonly delayS: number;
  readonly policy: 'persist' | 'nonpersist';
  readonly expiryS: number;
  readonly high: string;
  readonly low: string;
  readonly cmd: string;
  readonly nonPersistentHigh: string;
  readonly nonPersistentLow: string;
  readonly nonPersistentCmd: string;
  readonly enqueuePaused: boolean;
  readonly dequeuePaused: boolean;
}

export interface SpaceTerms {
  readonly errorQueue: string;
  readonly pages: number;
  readonly queues: number;
  readonly transactions: number;
  readonly processes: number;
  readonly actions: number;
  readonly messages: number;
  readonly nonPersistentBytes: number;
}

export interface Enqueue {
  readonly op: 'enqueue';
  readonly queue: string;
  /** 0: none. */
  readonly tx: number;
  readonly letter: Letter;
  readonly availability: When | null;
  readonly expiry: When | 'none' | null;
  readonly position: 'top' | Ref | null;
}

export interface Dequeue {
  readonly op: 'dequeue';
  readonly queue: string;
  readonly tx: number;
  readonly msgid: Ref | null;
  readonly corrid: number;
  readonly peek: boolean;
  /** Tenths of a second; 0: it does not wait. */
  readonly wait: number;
  /** TPNOCHANGE. */
  readonly only: 'STRING' | null;
}

export type Command =
  | Enqueue
  | Dequeue
  | { readonly op: 'cancel'; readonly n: number }
  | { readonly op: 'commit' | 'rollback'; readonly tx: number }
  | { readonly op: 'advance' | 'step'; readonly ms: number }
  | { readonly op: 'alter'; readonly queue: string; readonly change: Partial<QueueTerms> }
  | { readonly op: 'create'; readonly terms: QueueTerms }
  | { readonly op: 'space'; readonly change: Partial<SpaceTerms> }
  | { readonly op: 'purge'; readonly queue: string }
  /** `kill`: the process ends when that is on the log, but what was on the queue has only begun to go. */
  | { readonly op: 'destroy'; readonly queue: string; readonly kill: boolean }
  | { readonly op: 'restart'; readonly downMs: number; readonly stepMs: number }
  | { readonly op: 'kill'; readonly downMs: number; readonly stepMs: number; readonly keep: boolean }
  /** The wall clock jumps, and before anyone has noticed a request comes. */
  | { readonly op: 'jump'; readonly ms: number; readonly request: Dequeue | Enqueue }
  | { readonly op: 'hold syncs' | 'release syncs' };

/** A command, and whether the loop's turn ends after it. */
export interface Step {
  readonly command: Command;
  readonly turn: boolean;
}

export interface Scene {
  readonly space: SpaceTerms;
  readonly queues: readonly QueueTerms[];
  readonly steps: readonly Step[];
}

const often = <T>(value: T, weight: number, other: fc.Arbitrary<T>): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });

const queue = often('', 60, fc.constant('NONE')).chain((none) =>
  none === '' ? fc.constantFrom('A', 'A', 'A', 'B', 'B', 'C', 'D') : fc.constant(none),
);
const tx = fc.constantFrom(0, 0, 0, 1, 1, 2, 3, 4);
const corrid = fc.constantFrom(0, 0, 0, 1, 1, 2);
const ref: fc.Arbitrary<Ref> = fc.record({
  of: fc.oneof(
    { weight: 12, arbitrary: fc.constant('queue' as const) },
    { weight: 3, arbitrary: fc.constant('own' as const) },
    { weight: 2, arbitrary: fc.constant('ever' as const) },
    { weight: 1, arbitrary: fc.constant('foreign' as const) },
  ),
  n: fc.nat({ max: 30 }),
});
const qos = fc.constantFrom(0, 0, 0, 0, 0, 1, 2, 4, 4);
const letter: fc.Arbitrary<Letter> = fc.record({
  priority: fc.constantFrom(null, null, 1, 50, 51, 99, 100),
  corrid,
  replyqueue: fc.constantFrom('', '', '', 'REPLY'),
  failurequeue: fc.constantFrom('', '', '', 'FAILURES'),
  deliveryQos: qos,
  replyQos: qos,
  type: fc.constantFrom('STRING', 'STRING', 'STRING', 'MYTYPE', ''),
  bytes: fc.constantFrom(1, 7, 100, 300, 500, 1000),
});
const seconds = fc.constantFrom(0, 1, 1, 2, 3, 5, 20);
const moment = (clock: When['clock'], more: number[]): fc.Arbitrary<When> =>
  fc.record({ clock: fc.constant(clock), seconds: fc.oneof(seconds, fc.constantFrom(...more)) });

/** How rare something is: 9 is seldom, 1 is every other time. */
interface Rarity {
  readonly times: number;
  readonly places: number;
  readonly waits: number;
  readonly selections: number;
}

function enqueues(rare: Rarity): fc.Arbitrary<Enqueue> {
  const ends = fc.oneof(
    fc.constant('none' as const),
    moment('wall', [-1, 60, 600]),
    moment('space', [1, 60, 600]),
  );
  return fc.record({
    op: fc.constant('enqueue' as const),
    queue,
    tx,
    letter,
    availability: often<When | null>(
      null,
      rare.times,
      fc.oneof(moment('wall', [-100, -1]), moment('space', [1])),
    ),
    expiry: often<When | 'none' | null>(null, rare.times, ends),
    position: often<'top' | Ref | null>(null, rare.places, fc.oneof(fc.constant('top' as const), ref, ref)),
  });
}

function dequeues(rare: Rarity): fc.Arbitrary<Dequeue> {
  return fc.record({
    op: fc.constant('dequeue' as const),
    queue,
    tx,
    msgid: often<Ref | null>(null, 2 * rare.selections, ref),
    corrid: often(0, rare.selections, fc.constantFrom(1, 1, 2)),
    peek: often(false, 8, fc.constant(true)),
    wait: often(0, rare.waits, fc.constantFrom(1, 9, 20, 300)),
    only: often<'STRING' | null>(null, 15, fc.constant('STRING' as const)),
  });
}

const outOfOrder = often('top,msgid', 6, fc.constantFrom('none', 'top', 'msgid'));
const marks = fc.constantFrom(
  { high: '100%', low: '0%', cmd: '' },
  { high: '3m', low: '1m', cmd: 'few' },
  { high: '2m', low: '0', cmd: 'none' },
  { high: '1000b', low: '500b', cmd: 'bytes' },
  { high: '4B', low: '0B', cmd: 'blocks' },
  { high: '20%', low: '5%', cmd: 'share' },
);
const memoryMarks = fc.constantFrom(
  { nonPersistentHigh: '100%', nonPersistentLow: '0%', nonPersistentCmd: '' },
  { nonPersistentHigh: '600b', nonPersistentLow: '0', nonPersistentCmd: 'memory' },
  { nonPersistentHigh: '2B', nonPersistentLow: '1B', nonPersistentCmd: 'memory blocks' },
  { nonPersistentHigh: '50%', nonPersistentLow: '10%', nonPersistentCmd: 'memory share' },
);
const retries = fc.constantFrom(0, 1, 1, 2, 100);
const delayS = fc.constantFrom(0, 0, 1, 3);
const expiryS = often(-1, 7, fc.constantFrom(0, 2, 30));
const policy = often<QueueTerms['policy']>('persist', 3, fc.constant('nonpersist' as const));

function terms(name: fc.Arbitrary<string>): fc.Arbitrary<QueueTerms> {
  return fc
    .record({
      base: fc.record({
        name,
        order: fc.constantFrom(...ORDERS),
        outOfOrder,
        retries,
        delayS,
        policy,
        expiryS,
        enqueuePaused: fc.constant(false),
        dequeuePaused: fc.constant(false),
      }),
      marks,
      memoryMarks,
    })
    .map((parts) => ({ ...parts.base, ...parts.marks, ...parts.memoryMarks }));
}
const change: fc.Arbitrary<Partial<QueueTerms>> = fc.oneof(
  fc.record({ enqueuePaused: fc.boolean(), dequeuePaused: fc.constant(false) }),
  fc.record({ dequeuePaused: fc.boolean(), enqueuePaused: fc.constant(false) }),
  fc.record({ retries }),
  fc.record({ delayS }),
  fc.record({ expiryS }),
  fc.record({ outOfOrder }),
  fc.record({ policy }),
  marks,
  memoryMarks,
  fc.record({ order: fc.constantFrom(...ORDERS) }),
);

const limits = {
  errorQueue: fc.constantFrom('', 'A', 'B', 'C', 'C', 'ABSENT'),
  pages: often(0, 5, fc.constantFrom(4, 10, 30)),
  queues: often(0, 8, fc.constant(4)),
  transactions: often(0, 5, fc.constantFrom(1, 2, 3)),
  processes: often(0, 4, fc.constantFrom(1, 3)),
  actions: often(0, 4, fc.constantFrom(1, 3)),
  messages: often(0, 5, fc.constantFrom(3, 8, 20)),
  nonPersistentBytes: often(1_000_000, 4, fc.constantFrom(0, 1024, 5120)),
};
const spaceChange: fc.Arbitrary<Partial<SpaceTerms>> = fc.oneof(
  fc.record({ errorQueue: limits.errorQueue }),
  fc.record({ errorQueue: limits.errorQueue }),
  fc.record({ pages: limits.pages }),
  fc.record({ transactions: limits.transactions }),
  fc.record({ messages: limits.messages }),
  fc.record({ nonPersistentBytes: limits.nonPersistentBytes }),
);
const stepMs = fc.constantFrom(100, 1000, 2500, 60_000, -100, -1000, -2500, -60_000);
const stop = { downMs: fc.constantFrom(0, 0, 100, 2500), stepMs: often(0, 3, stepMs) };
const op = <T extends string>(name: T): fc.Arbitrary<T> => fc.constant(name);

function commands(rare: Rarity): fc.Arbitrary<Command> {
  const enqueue = enqueues(rare);
  const dequeue = dequeues(rare);
  const openTx = fc.integer({ min: 1, max: 4 });
  const ms = fc.constantFrom(100, 500, 500, 1000, 1000, 1100, 3000, 70_000);
  const kinds: readonly [number, fc.Arbitrary<Command>][] = [
    [340, enqueue],
    [220, dequeue],
    [10, fc.record({ op: op('cancel'), n: fc.nat({ max: 9 }) })],
    [80, fc.record({ op: op('commit'), tx: openTx })],
    [50, fc.record({ op: op('rollback'), tx: openTx })],
    [60, fc.record({ op: op('advance'), ms })],
    [10, fc.record({ op: op('step'), ms: stepMs })],
    [10, fc.record({ op: op('jump'), ms: stepMs, request: fc.oneof(dequeue, enqueue) })],
    [12, fc.record({ op: op('alter'), queue, change })],
    [10, fc.record({ op: op('create'), terms: terms(queue) })],
    [4, fc.record({ op: op('space'), change: spaceChange })],
    [2, fc.record({ op: op('purge'), queue })],
    [4, fc.record({ op: op('destroy'), queue, kill: often(false, 2, fc.constant(true)) })],
    [4, fc.record({ op: op('restart'), ...stop })],
    [5, fc.record({ op: op('kill'), ...stop, keep: fc.boolean() })],
    [6, fc.record({ op: op('hold syncs') })],
    [10, fc.record({ op: op('release syncs') })],
  ];
  return fc.oneof(...kinds.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

function scenes(rare: Rarity): fc.Arbitrary<Scene> {
  const step = fc.record({ command: commands(rare), turn: often(true, 2, fc.constant(false)) });
  return fc.record({
    space: fc.record(limits),
    queues: fc.tuple(...QUEUES.map((name) => terms(fc.constant(name)))),
    steps: fc.array(step, { maxLength: 300, size: 'max' }),
  });
}

/** A space with its queues, and what is done to it: a bit of everything, or mostly of one kind. */
export const scene: fc.Arbitrary<Scene> = fc.oneof(
  scenes({ times: 5, places: 3, waits: 3, selections: 3 }),
  scenes({ times: 9, places: 3, waits: 1, selections: 1 }),
  scenes({ times: 9, places: 0, waits: 9, selections: 9 }),
  scenes({ times: 1, places: 9, waits: 1, selections: 9 }),
);

const codeNames = new Map<number, string>(Object.entries(QME).map(([name, code]) => [code, name]));
export function codeName(code: number): string {
  return codeNames.get(code) ?? `tperrno ${code}`;
}

function whenText(when: When | 'none' | null): string {
  if (when === null || when === 'none') return String(when);
  return `${when.clock}+${when.seconds}s`;
}
function refText(given: 'top' | Ref | null): string {
  return given === null || given === 'top' ? String(given) : `${given.of}#${given.n}`;
}

/** One line. */
export function textOf({ command, turn }: Step): string {
  return commandText(command) + (turn ? '' : '   (the turn goes on)');
}

/** A space or a queue: what differs from the plainest one. */
export function termsText(about: QueueTerms | SpaceTerms): string {
  const plain = new Set(['', 0, '100%', '0%', 'fifo', 'none', 'persist', -1, false]);
  const words = Object.entries(about).filter(
    ([key, value]) => key === 'name' || (key === 'expiryS' && value === 0) || !plain.has(value),
  );
  return words.map(([key, value]) => `${key}=${String(value)}`).join(' ');
}

function commandText(one: Command): string {
  switch (one.op) {
    case 'enqueue':
      return enqueueText(one);
    case 'dequeue':
      return dequeueText(one);
    case 'jump':
      return `jump ${one.ms} ms, unnoticed, then ${commandText(one.request)}`;
    default: {
      const { op: name, ...rest } = one;
      const words = Object.entries(rest).map(([key, value]) =>
        typeof value === 'object' ? JSON.stringify(value) : `${key}=${String(value)}`,
      );
      return [name, ...words].join(' ');
    }
  }
}

function enqueueText(one: Enqueue): string {
  const { letter: sent, availability: from, expiry: until, position } = one;
  const words = [`enqueue ${one.queue}`];
  if (one.tx !== 0) words.push(`tx=${one.tx}`);
  if (sent.priority !== null) words.push(`priority=${sent.priority}`);
  if (sent.corrid !== 0) words.push(`corrid=${sent.corrid}`);
  if (sent.replyqueue !== '') words.push('replyq');
  if (sent.failurequeue !== '') words.push('failureq');
  if (sent.deliveryQos !== 0) words.push(`qos=${sent.deliveryQos}`);
  if (sent.replyQos !== 0) words.push(`replyqos=${sent.replyQos}`);
  words.push(sent.type === '' ? 'no data' : `${sent.type}:${sent.bytes}`);
  if (from !== null) words.push(`available=${whenText(from)}`);
  if (until !== null) words.push(`expires=${whenText(until)}`);
  if (position !== null) words.push(position === 'top' ? 'TOP' : `BEFORE ${refText(position)}`);
  return words.join(' ');
}

function dequeueText(one: Dequeue): string {
  const words = [`${one.peek ? 'peek' : 'dequeue'} ${one.queue}`];
  if (one.tx !== 0) words.push(`tx=${one.tx}`);
  if (one.msgid !== null) words.push(`msgid=${refText(one.msgid)}`);
  if (one.corrid !== 0) words.push(`corrid=${one.corrid}`);
  if (one.wait !== 0) words.push(`wait=${one.wait * 100}ms`);
  if (one.only !== null) words.push(`only=${one.only}`);
  return words.join(' ');
}
