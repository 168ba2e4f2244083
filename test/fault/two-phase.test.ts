// Two-phase commit on a disk whose power is cut at every call there is, in the work and in the recovery after it: each transaction over two
// queue spaces is in both or in none, one that was answered is in both, and nothing stays behind: no lock, no decision [DESIGN 6].
import { describe, expect, it } from 'vitest';
import { Prng } from '../../src/base/prng.ts';
import type { TransactionId } from '../../src/base/transaction-id.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import { DequeueRequest, type BatchNumber, type Work } from '../../src/engine/request.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import type { StoredMessage } from '../../src/engine/message-record.ts';
import { openTlog, type Tlog } from '../../src/engine/tlog.ts';
import { TwoPhase, type Part } from '../../src/engine/two-phase.ts';
import type { DefineQueueCommand, DefineSpaceCommand } from '../../src/queue/command.ts';
import { openLocalLog } from '../../src/wal/local/local-log.ts';
import { PageCache } from '../../src/wal/local/page-cache.ts';
import { SyncStrategy } from '../../src/wal/local/sync-strategy.ts';
import { QME } from '../../proto/codes.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { properties, queueAttributes, spaceAttributes } from '../support/queue-values.ts';
import { SlowFileIo, turn } from './engine-life.ts';
import { MemoryDisk } from './faulty-file-io.ts';

const SILENT = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };
const SPACES = ['ONE', 'TWO'] as const;
/** Messages that move, and names of transactions. */
const QUEUES = ['M', 'T'] as const;
const SEGMENT_BYTES = 64 * 1024;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

class Take extends DequeueRequest {
  readonly qname: string;
  readonly selection = { msgid: null, corrid: null };
  readonly work: Work | null;
  readonly peek = false;
  readonly wait = false;
  readonly deadlineMs = Infinity;
  readonly timeoutFailure = QME.QMENOMSG;
  readonly done: (message: StoredMessage | null) => void;
  constructor(qname: string, work: Work | null, done: (message: StoredMessage | null) => void) {
    super();
    this.qname = qname;
    this.work = work;
    this.done = done;
  }
  accepts(): boolean {
    return true;
  }
  taken(message: StoredMessage, _batch: BatchNumber): void {
    this.done(message);
  }
  refused(): void {
    this.done(null);
  }
}

/** One life of a daemon's transaction log and two spaces. */
class Life {
  readonly io: SlowFileIo;
  readonly engines: SpaceEngine[] = [];
  readonly twoPhase = new TwoPhase();
  tlog!: Tlog;
  dead = false;
  private serial = 0;
  private readonly prng: Prng;
  private readonly sliceEntries: number;

  /** A part with more entries than `sliceEntries` is walked in slices. */
  constructor(disk: MemoryDisk, prng: Prng, sliceEntries: number) {
    this.io = new SlowFileIo(disk, prng);
    this.prng = prng;
    this.sliceEntries = sliceEntries;
  }

  /** The power goes at the nth call from now on. */
  cutAt(n: number): void {
    const last = this.io.calls + n;
    this.io.faults = ({ n: call }) => {
      if (call < last && !this.dead) return null;
      this.dead = true;
      return 'EIO';
    };
  }

  async open(wallMs: number): Promise<void> {
    const clock = new ManualClock({ wallMs });
    const sync = new SyncStrategy(this.prng.oneIn(2) ? 'inline' : 'worker', clock);
    const ports = {
      clock,
      ulog: SILENT,
      soon: (then: () => void) => void setImmediate(then),
      runCommand: () => {},
    };
    const { signal } = new AbortController();
    const randomU32 = (): number => this.prng.u32();
    const log = (dir: string) => {
      const pages = new PageCache(1024 * 1024);
      return openLocalLog({
        dir,
        clock,
        ulog: SILENT,
        io: this.io,
        sync,
        segmentBytes: SEGMENT_BYTES,
        pages,
        randomU32,
      });
    };
    const newIdentity = (): string =>
      Array.from({ length: 32 }, () => this.prng.below(16).toString(16)).join('');
    this.tlog = await openTlog(await log('/device/tlog'), signal, { ...ports, newIdentity });
    this.twoPhase.tlog = this.tlog;
    for (const name of SPACES) {
      const engine = await openSpace(await log(`/device/${name}`), signal, ports);
      engine.endings.sliceEntries = this.sliceEntries;
      this.engines.push(engine);
      await admit(engine, { kind: 'defineSpace', attributes: spaceAttributes(name) });
      for (const queue of QUEUES) {
        const attributes = queueAttributes(queue, { retries: 1_000_000 });
        await admit(engine, { kind: 'defineQueue', attributes });
      }
      await engine.whenDurable();
    }
    await this.twoPhase.recover(this.engines, SILENT);
  }

  begin(): Part[] {
    const parts: Part[] = [];
    for (const engine of this.engines) {
      const part = { engine, work: engine.openWork() };
      expect(this.twoPhase.join(parts, part)).toBe(QME.OK);
      parts.push(part);
    }
    return parts;
  }

  async put(engine: SpaceEngine, text: string, work: Work | null): Promise<void> {
    for (;;) {
      const request = {
        qname: queueFor(text),
        properties: properties({}),
        terms: null,
        data: encoder.encode(text),
        work,
      };
      const { code, later } = engine.enqueue(request);
      if (code === QME.OK) return;
      if (!later) throw new Error(`enqueue: ${code}`);
      await new Promise<void>((resolve) => engine.whenRoom(resolve));
    }
  }

  take(engine: SpaceEngine, qname: string, work: Work | null): Promise<string | null> {
    return new Promise((resolve) => {
      const done = (message: StoredMessage | null): void =>
        resolve(message === null ? null : decoder.decode(message.data ?? new Uint8Array(0)));
      engine.dequeue(new Take(qname, work, done));
    });
  }

  /** true: committed, false: not known. */
  commit(parts: Part[], complete: boolean): Promise<boolean> {
    this.serial++;
    const id: TransactionId = { start: 1, serial: this.serial };
    const ending = this.twoPhase.commit(id, parts, { remember: true, complete });
    if (ending === null) this.twoPhase.rollback(parts, QME.QMESYSTEM);
    return new Promise((resolve) => {
      if (ending === null) resolve(false);
      else ending.hold({ released: () => resolve(true), failed: () => resolve(false) });
    });
  }

  /** What is on each queue, taken from it for good. */
  async contents(): Promise<string[][]> {
    const all: string[][] = [];
    for (const engine of this.engines) {
      const found: string[] = [];
      for (const queue of QUEUES) {
        for (;;) {
          const text = await this.take(engine, queue, null);
          if (text === null) break;
          found.push(text);
        }
      }
      all.push(found);
    }
    return all;
  }
}

async function admit(engine: SpaceEngine, command: DefineQueueCommand | DefineSpaceCommand): Promise<void> {
  while (engine.define(command).later) await new Promise<void>((resolve) => engine.whenRoom(resolve));
}

function names(all: readonly string[]): string[] {
  return all.filter((text) => text.startsWith('t')).toSorted();
}

function queueFor(text: string): string {
  return text.startsWith('m') ? 'M' : 'T';
}

/** What the script did, by the answers it got. */
interface Notes {
  readonly acknowledged: Set<string>;
}

const MOVING = ['m0', 'm1', 'm2'];
const TRANSACTIONS = 4;

/** Messages go from one space to the other; each transaction also leaves its name in both. The last one stays open. */
async function script(life: Life, notes: Notes, prng: Prng): Promise<void> {
  const [one, two] = life.engines as [SpaceEngine, SpaceEngine];
  for (let i = 0; i < TRANSACTIONS && !life.dead; i++) {
    const parts = life.begin();
    const works = parts.map(({ work }) => work) as [Work, Work];
    const forward = prng.oneIn(2);
    const moved = await life.take(forward ? one : two, 'M', forward ? works[0] : works[1]);
    const [target, work] = forward ? [two, works[1]] : [one, works[0]];
    if (moved !== null) await life.put(target, moved, work);
    await life.put(one, `t${i}`, works[0]);
    await life.put(two, `t${i}`, works[1]);
    const isLast = i === TRANSACTIONS - 1;
    if (isLast) return;
    const committed = life.commit(parts, prng.oneIn(2));
    // Some go on before the answer, some wait for it.
    if (prng.oneIn(2)) await Promise.race([committed, whenDead(life)]);
    void committed.then((done) => done && !life.dead && notes.acknowledged.add(`t${i}`));
  }
}

async function whenDead(life: Life): Promise<void> {
  for (let i = 0; i < 200 && !life.dead; i++) await turn();
}

async function settle(life: Life): Promise<void> {
  for (let i = 0; i < 120 && !life.dead; i++) await turn();
}

/** Starts, works until the power is cut at the `cut`th call, starts again (cut too, at the `second`th call, 0: not) and looks. */
async function run(seed: number, cut: number, second: number): Promise<'cut' | 'through'> {
  const prng = new Prng(seed);
  const sliceEntries = [Infinity, 1, Infinity, 2][seed % 4] as number;
  let disk = new MemoryDisk();
  let life = new Life(disk, prng, sliceEntries);
  const notes: Notes = { acknowledged: new Set() };
  await life.open(1_000_000);
  for (const text of MOVING) await life.put(life.engines[0] as SpaceEngine, text, null);
  await life.engines[0]?.whenDurable();
  life.cutAt(cut);
  await Promise.race([script(life, notes, prng).catch(() => {}), whenDead(life)]);
  await settle(life);
  const through = !life.dead;
  const crash = (): void => {
    life.dead = true;
    life.io.faults = () => 'EIO';
    disk.crash(prng);
    disk = disk.clone();
  };
  crash();
  if (second > 0) {
    life = new Life(disk, prng, sliceEntries);
    life.cutAt(second);
    await Promise.race([life.open(2_000_000).catch(() => {}), whenDead(life)]);
    crash();
  }
  life = new Life(disk, prng, sliceEntries);
  await life.open(3_000_000);
  await settle(life);
  expect(life.engines.map((engine) => engine.prepared.list().length)).toEqual([0, 0]);
  expect(life.tlog.decisions.size).toBe(0);
  const [one, two] = (await life.contents()) as [string[], string[]];
  expect(names(one)).toEqual(names(two));
  expect(
    one
      .concat(two)
      .filter((text) => text.startsWith('m'))
      .toSorted(),
  ).toEqual(MOVING);
  for (const name of notes.acknowledged) expect(one).toContain(name);
  expect(new Set(names(one)).size).toBe(names(one).length);
  await Promise.all(life.engines.map((engine) => engine.close()));
  await life.tlog.close();
  return through ? 'through' : 'cut';
}

describe('power cuts', () => {
  it('at every call of the disk in a script of transactions', async () => {
    for (let cut = 1; ; cut++) {
      const ends = [await run(cut, cut, 0), await run(5001 + cut, cut, 0)];
      if (ends.every((end) => end === 'through')) break;
    }
  });

  it('at every call of the disk in the recovery', async () => {
    for (let second = 1; second <= 24; second++) await run(1000 + second, 6 + (second % 14), second);
  });
});
