// The engine against a naive space: random commands on several queues of every order, in and out of transactions, over restarts, kills and
// clock steps; the same answers, counts, usage and order. TMQUEUE_MODEL=<number of commands>, TMQUEUE_MODEL_SEED=<seed of the first part>.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { scene as scenes } from './commands.ts';
import { runScene } from './scene.ts';
import type { Tally } from './system.ts';
import { times } from '../support/depth.ts';

const COMMANDS = times('TMQUEUE_MODEL', { inTest: 20_000, inCi: 50_000 });
const FIRST_SEED = Number(process.env['TMQUEUE_MODEL_SEED'] ?? Math.floor(Math.random() * 1e9));
/** Scenes of one part, which has a seed of its own. */
const SCENES = 20;
const DAY_MS = 24 * 3_600_000;

/** What fifty thousand commands come to again and again: a model that stopped looking would be found out. */
const MUST_HAPPEN = [
  'enqueue top: OK',
  'enqueue top: QMEINVAL',
  'enqueue before queue in tx: OK',
  'enqueue before own in tx: OK',
  'enqueue before foreign: QMEBADMSGID',
  'enqueue null: QMENOSPACE',
  'enqueue null in tx: QMESHARE',
  'dequeue corrid: OK',
  'dequeue msgid: OK',
  'dequeue in tx: OK',
  'dequeue in tx: QMESYSTEM',
  'dequeue: QMESHARE',
  'dequeue wait later: OK',
  'dequeue wait corrid later: OK',
  'dequeue wait in tx later: OK',
  'dequeue wait in tx later: QMEABORTED',
  'dequeue wait later: QMENOMSG',
  'peek wait later: OK',
  'destroy: OK',
  'destroy: QMESHARE',
  'define: QMEINVAL',
  'threshold command: few',
  'threshold command: memory',
  'ended in slices',
];

it(
  'answers as a sorted array would',
  async () => {
    const tally: Tally = new Map();
    const ran = { commands: 0 };
    let seed = FIRST_SEED;
    const property = fc.asyncProperty(scenes, async (scene) => {
      // Every other part ends each transaction with more than one entry in slices.
      const slices = seed % 2 === 0 ? {} : { sliceEntries: 1 };
      const commands = await runScene(scene, { tally, ...slices });
      ran.commands += commands;
    });
    do {
      const result = await fc.check(property, { seed, numRuns: SCENES });
      if (result.failed) {
        const { errorInstance, numShrinks } = result;
        const reason = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
        throw new Error(`TMQUEUE_MODEL_SEED=${seed}, shortened in ${numShrinks} steps\n${reason}`);
      }
      seed++;
    } while (ran.commands < COMMANDS);
    console.log(`${ran.commands} commands, seeds ${FIRST_SEED} to ${seed - 1}`);
    if (COMMANDS < 50_000) return;
    expect(MUST_HAPPEN.filter((what) => !tally.has(what))).toEqual([]);
  },
  DAY_MS,
);
