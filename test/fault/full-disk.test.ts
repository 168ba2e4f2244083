// A disk that is full to the byte, with the fill point moved [DESIGN 5, Room; field cases C01, C05, C55]: enqueues are refused before anything
// is written; dequeues, commits, rollbacks, deletions and starts go on with no byte free, a checkpoint is skipped; room that comes back is
// used without a restart; and what was acknowledged afterwards is there after a power cut. TMQUEUE_FILL_POINTS=2000 for the long run,
// TMQUEUE_SEED=n for other points.
import { describe, expect, test } from 'vitest';
import { ADMIN } from '../../proto/codes.ts';
import { Prng } from '../../src/base/prng.ts';
import { readAll } from '../crash/contents.ts';
import { checkAndSettle } from '../support/ledger-check.ts';
import { Ledger } from '../support/ledger.ts';
import { EngineLife, SEGMENT_BYTES } from './engine-life.ts';
import { type CutMood, MemoryDisk } from './faulty-file-io.ts';
import { Script, SCRIPT_QUEUES } from './script.ts';

const POINTS = Number(process.env['TMQUEUE_FILL_POINTS'] ?? 40);
const SEED = Number(process.env['TMQUEUE_SEED'] ?? 20261130);
const MOODS: readonly CutMood[] = ['dropped', 'kept', 'torn'];
/** A full disk is tried again by the clock after five seconds. */
const RETRY_MS = 6000;

class FullDisk {
  readonly ledger = new Ledger({ neverRolledBack: ['B'] });
  readonly warnings: string[] = [];
  life!: EngineLife;
  private disk = new MemoryDisk();
  private readonly prng: Prng;
  private capacityBytes: number;

  constructor(capacityBytes: number, seed: number) {
    this.capacityBytes = capacityBytes;
    this.prng = new Prng(seed);
  }

  async open(stream: string): Promise<Script> {
    const { disk, prng, capacityBytes } = this;
    const warn = (message: string): void => void this.warnings.push(message);
    const ulog = { info: () => {}, warn, error: warn };
    const options = { disk, prng, queues: SCRIPT_QUEUES, treason: 'none' as const, capacityBytes, ulog };
    this.life = await EngineLife.open(options);
    return new Script(this.life, this.ledger, stream);
  }

  /** What the file system has from now on. */
  become(capacityBytes: number): void {
    this.capacityBytes = capacityBytes;
    this.life.io.capacityBytes = capacityBytes;
  }
  /** Somebody else takes what is left, to the last byte. */
  fillUp(): void {
    this.become(this.life.disk.bytes);
  }

  cut(mood: CutMood): void {
    this.life.cut(mood);
    this.disk = this.life.disk;
  }

  async check(): Promise<void> {
    checkAndSettle(this.ledger, await readAll(this.life.client(), SCRIPT_QUEUES, true));
  }

  get refused(): number {
    return [...this.ledger.items.values()].filter((item) => item.put === 'refused').length;
  }
  get live(): number {
    return this.life.engine.space.messages.live;
  }
  /** How often the log itself was written to. */
  get logWrites(): number {
    return this.life.engine.store.stat().batches;
  }
}

/** Enqueues until the log has nothing left. */
async function fill(full: FullDisk, script: Script): Promise<void> {
  for (let refused = -1; refused !== full.refused || refused === 0;) {
    refused = full.refused;
    await script.put('A', 10, 2500);
    await script.idle();
    if (full.refused > refused + 5) return;
  }
}

describe('with no byte free', () => {
  test('enqueues are refused before anything is written, all that frees goes on, and so does a start', async () => {
    const full = new FullDisk(7 * SEGMENT_BYTES, 3);
    let script = await full.open('one');
    await fill(full, script);
    full.fillUp();
    const { refused, logWrites, live } = full;
    await script.put('A', 10, 2500);

    expect(full.refused, 'refused').toBe(refused + 10);
    expect(full.logWrites, 'written for a refused enqueue').toBe(logWrites);
    expect(live).toBeGreaterThan(50);
    for (const [round, mood] of MOODS.entries()) {
      await script.take('A', 4);
      await script.giveBack(4);
      await script.checkpoint();
      full.cut(mood);
      script = await full.open(`after ${round}`);
      await full.check();
    }
    expect(full.warnings.filter((line) => line.includes('a checkpoint was given up'))).not.toEqual([]);
    expect(full.warnings.filter((line) => line.includes('the disk is full: free some space'))).not.toEqual(
      [],
    );
    // Deleting is freeing too: it needs no more room than dequeuing.
    const client = full.life.client();
    const { live: left } = full;
    const purged = await script.ending(client.admin(ADMIN.QPURGE, 'A'));
    expect(Object.values(purged)).toContain(left);
    expect(full.live).toBe(0);
  });

  test('a transaction takes and commits', async () => {
    const full = new FullDisk(7 * SEGMENT_BYTES, 4);
    const script = await full.open('one');
    await fill(full, script);
    full.fillUp();
    const { live } = full;
    const client = full.life.client();
    const transaction = await client.begin();
    for (let i = 0; i < 20; i++) await script.ending(transaction.take('A'));
    await script.ending(transaction.commit());
    expect(full.live).toBe(live - 20);
  });

  test('is said once, not at every try, and so is its end', async () => {
    const full = new FullDisk(5 * SEGMENT_BYTES, 5);
    const script = await full.open('one');
    await fill(full, script);
    full.fillUp();
    for (let tries = 0; tries < 20; tries++) {
      full.life.clock.advance(RETRY_MS);
      await script.idle();
    }
    expect(full.warnings.filter((line) => line.includes('the disk is full'))).toHaveLength(1);
  });

  test('a new space is refused, with the reason; with room it is made', async () => {
    const disk = new MemoryDisk();
    const options = { disk, queues: SCRIPT_QUEUES, treason: 'none' } as const;
    for (const capacityBytes of [0, 1, 1000, SEGMENT_BYTES - 1, SEGMENT_BYTES, 2 * SEGMENT_BYTES - 1]) {
      const opening = EngineLife.open({ ...options, prng: new Prng(1), capacityBytes });
      await expect(opening).rejects.toThrow(/ENOSPC|refused: -13/);
    }
    const life = await EngineLife.open({ ...options, prng: new Prng(1) });
    expect(life.engine.space.queue('A')).toBeDefined();
  });
});

describe('the fill point moved byte by byte', () => {
  test(
    `${POINTS} points, seed ${SEED}: no half record is followed by a good one`,
    { timeout: 60_000 + POINTS * 1000 },
    async () => {
      const prng = new Prng(SEED);
      const from = 4 * SEGMENT_BYTES + prng.below(2 * SEGMENT_BYTES);
      let accepted = 0;
      for (let point = 0; point < POINTS; point++) {
        // Half of them one after the other, half anywhere.
        const capacityBytes =
          point % 2 === 0 ? from + point / 2 : prng.between(4, 9 * SEGMENT_BYTES) + 3 * SEGMENT_BYTES;
        try {
          accepted += await fillFreeAndCut(capacityBytes, MOODS[point % MOODS.length] ?? 'torn');
        } catch (error) {
          throw new Error(`a disk of ${capacityBytes} bytes`, { cause: error });
        }
      }
      expect(accepted, 'enqueues that were accepted once there was room').toBeGreaterThan(15 * POINTS);
    },
  );
});

/** Fills the disk, works on it, frees some room, enqueues twenty more, cuts the power; returns how many of the twenty were accepted. */
async function fillFreeAndCut(capacityBytes: number, mood: CutMood): Promise<number> {
  const full = new FullDisk(capacityBytes, capacityBytes);
  let script = await full.open('one');
  await fill(full, script);
  await script.take('A', 3);
  await script.checkpoint();
  await script.put('B', 3, 700);
  full.become(capacityBytes + 5 * SEGMENT_BYTES);
  full.life.clock.advance(RETRY_MS);
  await script.idle();
  const before = full.ledger.counts().puts;
  await script.put('B', 20, 1000);
  const accepted = full.ledger.counts().puts - before;
  expect(full.life.engine.journal.failure, 'the log lives').toBeNull();
  full.cut(mood);
  script = await full.open('two');
  await full.check();
  await script.put('A', 2, 100);
  full.cut('dropped');
  await full.open('three');
  await full.check();
  return accepted;
}
