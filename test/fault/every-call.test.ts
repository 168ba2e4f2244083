// Every call of the disk fails once, in every way, under an engine that enqueues, dequeues, commits, rolls back, takes checkpoints, reclaims
// its log, is stopped and started [issue 5; field cases C01, C03, C19, C55]. Everybody is answered, the power then goes and drops, keeps
// or tears what was not synced, and a sound disk shows a space that agrees with the ledger and works on. TMQUEUE_EVERY_CALL=21: each way
// at each call with each kind of power cut (=3: three of these 21 at each call, in turn); else one of them at the calls that matter most.
import { describe, expect, test } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import { readAll } from '../crash/contents.ts';
import { checkAndSettle } from '../support/ledger-check.ts';
import { Ledger } from '../support/ledger.ts';
import { EngineLife } from './engine-life.ts';
import { type Call, type CutMood, type FaultKind, MemoryDisk } from './faulty-file-io.ts';
import { Script, SCRIPT_QUEUES } from './script.ts';

const WAYS_EACH = Number(process.env['TMQUEUE_EVERY_CALL'] ?? 0);
const SEED = Number(process.env['TMQUEUE_SEED'] ?? 20261130);
const KINDS: readonly FaultKind[] = ['EIO', 'ENOSPC', 'EMFILE', 'EROFS', 'ENOENT', 'short', 'stuck'];
const MOODS: readonly CutMood[] = ['dropped', 'kept', 'torn'];

/** As boot hears of it: the log's own error, or no room (yet) for the definitions. */
const REFUSED_START = /^LogError: |the log failed at the start|a definition was refused: (-13|-6)/;

class Run {
  disk = new MemoryDisk();
  calls = 0;
  readonly log: Call[] = [];
  readonly lines: string[] = [];
  readonly prng = new Prng(SEED);
  readonly ledger = new Ledger({ neverRolledBack: ['B'] });
  private readonly fault: { n: number; kind: FaultKind };

  constructor(fault: { n: number; kind: FaultKind }) {
    this.fault = fault;
  }

  /** Fills, works and stops; starts, works, and is cut off the power. The fault is somewhere in it. */
  async live(mood: CutMood): Promise<void> {
    const first = await this.open();
    if (first !== null) {
      const script = new Script(first, this.ledger, 'one');
      await script.run();
      await this.end(first, script);
    }
    const second = await this.open();
    if (second === null) {
      this.disk.crash(this.prng, mood);
      return;
    }
    const script = new Script(second, this.ledger, 'two');
    await script.put('A', 5, 500);
    await script.take('B', 5);
    second.cut(mood);
    this.disk = second.disk;
  }

  /** A sound disk now: what is there agrees with the ledger, can be worked on, and is there after another cut. */
  async check(): Promise<void> {
    for (const stream of ['three', 'four']) {
      const life = await EngineLife.open(this.options());
      checkAndSettle(this.ledger, await readAll(life.client(), SCRIPT_QUEUES, true));
      const script = new Script(life, this.ledger, stream);
      await script.checkpoint();
      await script.idle();
      expect(this.leftovers(), 'leftovers').toEqual([]);
      await script.put('A', 3, 500);
      await script.take('A', 1);
      life.cut('dropped');
      this.disk = life.disk;
    }
  }

  /** null: the fault ended the start. */
  private async open(): Promise<EngineLife | null> {
    const faults = (call: Call): FaultKind | null => {
      this.calls++;
      this.log.push(call);
      return this.calls === this.fault.n ? this.fault.kind : null;
    };
    try {
      return await EngineLife.open({ ...this.options(), faults });
    } catch (error) {
      expect(String(error)).toMatch(REFUSED_START);
      return null;
    }
  }

  private options(): Parameters<typeof EngineLife.open>[0] {
    const line = (message: string): void => void this.lines.push(message);
    const ulog = { info: line, warn: line, error: line };
    return { disk: this.disk, prng: this.prng, queues: SCRIPT_QUEUES, treason: 'none', ulog };
  }

  private async end(life: EngineLife, script: Script): Promise<void> {
    await script.ending(life.engine.close());
    life.dead = true;
    expect(life.io.badCloses, 'descriptors closed twice').toBe(0);
    expect(life.io.openFiles, 'descriptors left open').toBe(0);
  }

  private leftovers(): string[] {
    return this.disk.files().filter((path) => path.endsWith('.tmp'));
  }
}

async function soundRun(): Promise<Run> {
  const run = new Run({ n: 0, kind: 'EIO' });
  await run.live('kept');
  await run.check();
  return run;
}

/** Calls that change names, or that something else than the log's own writes depends on: each is tried also in the short run. */
const RARE = /^(open|rename|unlink|fsyncDir|readdir|truncate|stat|mkdir)$/;
/** Of the others the short run tries one in so many. */
const SHORT_STEP = 12;

function faultsOf(log: readonly Call[]): { n: number; kind: FaultKind; mood: CutMood }[] {
  const ways = KINDS.flatMap((kind) => MOODS.map((mood) => ({ kind, mood })));
  const wayAt = (turn: number): (typeof ways)[number] => ways[turn % ways.length] as (typeof ways)[number];
  return log.flatMap(({ name }, i) => {
    const n = i + 1;
    const count = WAYS_EACH > 0 ? WAYS_EACH : RARE.test(name) || n % SHORT_STEP === 0 ? 1 : 0;
    return Array.from({ length: count }, (_, turn) => ({ n, ...wayAt(n + 5 * turn) }));
  });
}

describe('each call of the disk', () => {
  test('of the script: reclaim, checkpoints and the start make every kind there is', async () => {
    const { log } = await soundRun();
    const made = new Set(
      log.map(({ name, path }) => `${name} ${/\.\w+(\.tmp)?$/.exec(path)?.[0] ?? 'folder'}`),
    );
    expect([...made]).toEqual(
      expect.arrayContaining([
        'open .log.tmp',
        'pwrite .log.tmp',
        'fdatasync .log.tmp',
        'rename .log',
        'pwrite .log',
        'fdatasync .log',
        'rename .first',
        'unlink .log',
        'fsyncDir folder',
        'pread .log',
        'readdir folder',

        'open .checkpoint.tmp',
        'pwrite .checkpoint.tmp',
        'truncate .checkpoint.tmp',
        'fdatasync .checkpoint.tmp',
        'rename .checkpoint',
        'unlink .checkpoint',
        'open .checkpoint',
        'pread .checkpoint',
      ]),
    );
  });

  test(`fails once, seed ${SEED}`, { timeout: WAYS_EACH > 0 ? 7_200_000 : 60_000 }, async () => {
    const { log } = await soundRun();
    const faults = faultsOf(log);
    const wrong: string[] = [];
    for (const { n, kind, mood } of faults) {
      const run = new Run({ n, kind });
      try {
        await run.live(mood);
        await run.check();
      } catch (error) {
        wrong.push(
          `${kind} at call ${n} (${log[n - 1]?.name} ${log[n - 1]?.path}), ${mood}: ${String(error)}`,
        );
      }
    }
    console.log(`every-call: ${faults.length} faults in ${log.length} calls, seed ${SEED}`);
    expect(wrong).toEqual([]);
  });
});
