// What the model test found, in plain form: each was a fault of the engine.
import { it } from 'vitest';
import type { Command, Dequeue, Enqueue, QueueTerms, Scene, SpaceTerms } from './commands.ts';
import { runScene } from './scene.ts';

const PLAIN: QueueTerms = {
  name: 'A',
  order: 'fifo',
  outOfOrder: 'top,msgid',
  retries: 1,
  delayS: 0,
  policy: 'persist',
  expiryS: -1,
  high: '100%',
  low: '0%',
  cmd: '',
  nonPersistentHigh: '100%',
  nonPersistentLow: '0%',
  nonPersistentCmd: '',
  enqueuePaused: false,
  dequeuePaused: false,
};
const UNLIMITED: SpaceTerms = {
  errorQueue: '',
  pages: 0,
  queues: 0,
  transactions: 0,
  processes: 0,
  actions: 0,
  messages: 0,
  nonPersistentBytes: 0,
};

/** Small, so that the log is reclaimed. */
const SEGMENT_BYTES = 64 * 1024;

function put(over: Partial<Enqueue> & { corrid?: number } = {}): Enqueue {
  const { corrid = 0, ...rest } = over;
  const letter = { corrid, priority: null, replyqueue: '', failurequeue: '', deliveryQos: 0, replyQos: 0 };
  const times = { availability: null, expiry: null, position: null };
  return {
    op: 'enqueue',
    queue: 'A',
    tx: 0,
    letter: { ...letter, type: 'STRING', bytes: 7 },
    ...times,
    ...rest,
  };
}
function take(over: Partial<Dequeue> = {}): Dequeue {
  return {
    op: 'dequeue',
    queue: 'A',
    tx: 0,
    msgid: null,
    corrid: 0,
    peek: false,
    wait: 0,
    only: null,
    ...over,
  };
}
function run(commands: readonly Command[], over: Partial<Scene> = {}): Promise<number> {
  const steps = commands.map((command) => ({ command, turn: true }));
  const scene = { space: UNLIMITED, queues: [PLAIN, { ...PLAIN, name: 'B' }], steps, ...over };
  return runScene(scene, { segmentBytes: SEGMENT_BYTES });
}

it('gives what comes together to those who have waited longest, whatever the order of the queue', async () => {
  const commands: Command[] = [
    take({ corrid: 2, wait: 300 }),
    take({ wait: 300 }),
    put({ tx: 1, corrid: 1 }),
    put({ tx: 1, corrid: 2 }),
    { op: 'commit', tx: 1 },
  ];
  await run(commands, { queues: [{ ...PLAIN, order: 'lifo' }] });
});

it('gives what became due to who waited for it, not to who comes before the timer', async () => {
  const later = put({ availability: { clock: 'wall', seconds: 5 } });
  await run([later, take({ wait: 300 }), { op: 'jump', ms: 60_000, request: take() }]);
});

it('counts no message that has expired towards a limit, even before the timer', async () => {
  const ends = put({ expiry: { clock: 'wall', seconds: 5 } });
  await run([ends, { op: 'jump', ms: 60_000, request: put() }], { space: { ...UNLIMITED, messages: 1 } });
});

it('counts no message that has expired towards a threshold, whatever else is due at the time', async () => {
  const commands: Command[] = [
    put({ queue: 'B', tx: 1, availability: { clock: 'space', seconds: 1 } }),
    put({ tx: 1, expiry: { clock: 'wall', seconds: -1 } }),
    put(),
    put(),
    { op: 'advance', ms: 1000 },
    { op: 'commit', tx: 1 },
  ];
  const watched = { ...PLAIN, high: '3m', low: '1m', cmd: 'few' };
  await run(commands, { queues: [watched, { ...PLAIN, name: 'B' }] });
});

it('puts a message directly before one of two that took the place of one that has gone', async () => {
  const before = (n: number, tx: number): Enqueue => put({ tx, position: { of: 'queue', n } });
  const commands: Command[] = [
    put(),
    take({ tx: 1 }),
    before(0, 1),
    before(0, 1),
    { op: 'commit', tx: 1 },
    before(1, 0),
  ];
  await run(commands);
});

it('halves the same gap again and again, over a restart; what is restated counts as before', async () => {
  const steps = [put(), ...Array.from({ length: 600 }, () => put({ position: { of: 'queue', n: 1 } }))].map(
    (command) => ({ command, turn: false }),
  );
  const first = { command: put({ position: { of: 'queue', n: 0 } }), turn: false } as const;
  const restart = { command: { op: 'restart', downMs: 0, stepMs: 0 }, turn: true } as const;
  await run([], { steps: [steps[0] as (typeof steps)[0], first, ...steps.slice(1), restart] });
});
