// One life of a queue space on a faulty disk: the log, the engine and the roles as boot puts them together, and its end: a power cut in the
// middle of any call of the disk or between two, or a clean stop. A power cut keeps, drops or tears by seed what was not synced.
import { QME } from '../../proto/codes.ts';
import { AdminRequests } from '../../src/admin/requests.ts';
import { AtmiRequests } from '../../src/atmi/requests.ts';
import { Joins } from '../../src/atmi/joins.ts';
import { Services } from '../../src/atmi/services.ts';
import { Transactions } from '../../src/atmi/transactions.ts';
import { UnsolicitedMessages } from '../../src/atmi/unsolicited.ts';
import type { Prng } from '../../src/base/prng.ts';
import type { Ulog } from '../../src/base/ulog.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import { RequestDispatcher } from '../../src/net/dispatch.ts';
import type { DefineQueueCommand, DefineSpaceCommand } from '../../src/queue/command.ts';
import { QueueRequests } from '../../src/tmqueue/requests.ts';
import { Tmqueue } from '../../src/tmqueue/tmqueue.ts';
import { openLocalLog } from '../../src/wal/local/local-log.ts';
import { PageCache } from '../../src/wal/local/page-cache.ts';
import { SyncStrategy } from '../../src/wal/local/sync-strategy.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { queueAttributes, spaceAttributes } from '../support/queue-values.ts';
import { EngineClient, QSPACE } from './engine-calls.ts';
import { type CutMood, FaultyFileIo, type MemoryDisk } from './faulty-file-io.ts';

const SILENT = { info: (): void => {}, warn: (): void => {}, error: (): void => {} };
export const SEGMENT_BYTES = 64 * 1024;
export const ERROR_QUEUE = 'ERRQ';
/** Besides the load's queues: FEW, whose messages move to the error queue after two rollbacks. */
export const FEW = 'FEW';
/** And LATE, whose messages wait this long after a rollback. */
export const LATE = 'LATE';
export const LATE_MS = 1000;

/** Ways in which a build could answer too early; each must be found out. */
export type Treason =
  | 'none'
  | 'sync does nothing'
  | 'sync comes later'
  | 'answers are not held back'
  | 'answers wait for the batch before theirs';

export interface LifeOptions {
  readonly disk: MemoryDisk;
  readonly prng: Prng;
  readonly queues: readonly string[];
  readonly treason: Treason;
  /** How much the log may occupy: a disk that becomes full. */
  readonly limitBytes?: number;
  /** What the disk takes, to the byte. */
  readonly capacityBytes?: number;
  /** Which calls of the disk fail, from the first one on. */
  readonly faults?: FaultyFileIo['faults'];
  /** Default: nobody reads it. */
  readonly ulog?: Ulog;
}

export class EngineLife {
  readonly engine: SpaceEngine;
  readonly clock: ManualClock;
  /** The disk as the next life finds it. */
  disk: MemoryDisk;
  dead = false;
  readonly io: SlowFileIo;
  private readonly prng: Prng;
  private readonly dispatcher: RequestDispatcher;
  private readonly clients: EngineClient[] = [];

  private constructor(
    opened: { engine: SpaceEngine; io: SlowFileIo; clock: ManualClock },
    options: LifeOptions,
  ) {
    this.engine = opened.engine;
    this.io = opened.io;
    this.clock = opened.clock;
    this.disk = options.disk;
    this.prng = options.prng;
    this.dispatcher = dispatcherOn(opened.engine, opened.clock);
    this.betray(options.treason);
  }

  static async open(options: LifeOptions): Promise<EngineLife> {
    const { disk, prng, treason, ulog = SILENT } = options;
    const io = new SlowFileIo(disk, prng);
    io.faults = options.faults ?? io.faults;
    io.capacityBytes = options.capacityBytes ?? Infinity;
    io.lyingSync = treason === 'sync does nothing';
    io.lateSync = treason === 'sync comes later';
    // The wall clock is anywhere after a restart; the space's own time goes on.
    const clock = new ManualClock({ wallMs: 1_700_000_000_000 + prng.between(-3_600_000, 3_600_000) });
    const sync = new SyncStrategy(prng.oneIn(2) ? 'inline' : 'worker', clock);
    const store = await openLocalLog({
      dir: '/device/space',
      clock,
      ulog,
      io,
      sync,
      segmentBytes: SEGMENT_BYTES,
      pages: new PageCache(prng.oneIn(2) ? 1 : 4 * 1024 * 1024),
      ...(options.limitBytes === undefined ? {} : { limitBytes: options.limitBytes }),
      randomU32: () => prng.u32(),
    });
    const engine = await openSpace(store, new AbortController().signal, {
      clock,
      ulog,
      soon,
      runCommand: () => {},
    });
    const life = new EngineLife({ engine, io, clock }, options);
    try {
      await life.define(options.queues);
    } catch (error) {
      // As boot does: what is given up leaves the disk alone.
      await engine.close();
      throw error;
    }
    return life;
  }

  client(): EngineClient {
    const client = new EngineClient(this.dispatcher, turn);
    this.clients.push(client);
    return client;
  }

  /** Lets the clients work until the power is cut: at the `calls`th call of the disk, or after so many turns of the loop. */
  async runUntilCut(calls: number, turns: number): Promise<void> {
    const last = this.io.calls + calls;
    this.io.faults = ({ n }) => {
      if (n < last && !this.dead) return null;
      this.cut();
      return 'EIO';
    };
    for (let i = 0; i < turns && !this.dead; i++) {
      if (this.prng.oneIn(4)) this.clock.advance(this.prng.between(1, LATE_MS / 2));
      await turn();
    }
    this.cut();
  }

  /** The nth sync from now on reports EIO, once: what it was to make durable is not. Resolves when it did. */
  failSync(nth: number): Promise<void> {
    return new Promise((resolve) => {
      let left = nth;
      this.io.faults = ({ name, ofCheckpoint }) => {
        // A checkpoint that cannot be synced is given up; the log lives on.
        if (name !== 'fdatasync' || ofCheckpoint || --left !== 0) return null;
        resolve();
        return 'EIO';
      };
    });
  }

  /** The same without a fault of the disk: the daemon is stopped. */
  async stopCleanly(turns: number): Promise<void> {
    for (let i = 0; i < turns; i++) await turn();
    await this.engine.close();
    this.dead = true;
    for (const client of this.clients) client.lose();
  }

  /** The power goes: what the dead process still does to its disk is not on the next life's. */
  cut(mood: CutMood = 'chance'): void {
    if (this.dead) return;
    this.dead = true;
    this.io.faults = () => 'EIO';
    this.disk.crash(this.prng, mood);
    this.disk = this.disk.clone();
    for (const client of this.clients) client.lose();
  }

  private betray(treason: Treason): void {
    const { engine } = this;
    const { journal } = engine;
    if (treason === 'answers are not held back') engine.hold = (_, held) => held.released();
    if (treason === 'answers wait for the batch before theirs') {
      engine.hold = (batch, held) => journal.hold(batch - 1, held);
    }
  }

  /** As boot does: what the configuration says is durable before anyone is served. */
  private async define(queues: readonly string[]): Promise<void> {
    const { engine } = this;
    let batch = await this.admit({
      kind: 'defineSpace',
      attributes: spaceAttributes(QSPACE, { errorQueue: ERROR_QUEUE }),
    });
    for (const name of queues) {
      const [retries, delayS] = [name === FEW ? 1 : 1_000_000, name === LATE ? LATE_MS / 1000 : 0];
      const attributes = queueAttributes(name, { retries, delayS });
      batch = await this.admit({ kind: 'defineQueue', attributes });
    }
    await new Promise<void>((resolve, reject) => {
      engine.hold(batch, {
        released: resolve,
        failed: () => reject(new Error('the log failed at the start')),
      });
    });
  }

  private async admit(command: DefineQueueCommand | DefineSpaceCommand): Promise<number> {
    for (;;) {
      const { code, later, batch } = this.engine.define(command);
      if (code === QME.OK) return batch;
      if (!later) throw new Error(`a definition was refused: ${code}`);
      await new Promise<void>((resolve) => this.engine.whenRoom(resolve));
    }
  }
}

function dispatcherOn(engine: SpaceEngine, clock: ManualClock): RequestDispatcher {
  const tmqueue = new Tmqueue();
  tmqueue.serve({ engine, timeoutMs: 30_000, name: QSPACE, device: '/device', aliases: [QSPACE] });
  const transactions = new Transactions(clock, { maxGtt: 1000, maxTranTimeS: 0 });
  const messageBytesMax = 1024 * 1024;
  const services = new Services({ clock, messageBytesMax, joins: new Joins(transactions) });
  const limits = {
    blockTimeMs: 60_000,
    messageBytesMax,
    inFlightMax: 1000,
    readerBytesMax: 1e9,
    heartbeatMs: 0,
  };
  const { blockTimeMs } = limits;
  const known = { transactionOf: transactions.ofBranch.bind(transactions), isCommitted: () => false };
  const admin = new AdminRequests({
    spaces: () => tmqueue.spaces(),
    servers: () => [],
    device: () => undefined,
    transactions: known,
    lmid: 'SITE1',
    reload: () => Promise.resolve({ outcome: 'unchanged', items: [] }),
    ulog: SILENT,
  });
  const roles = {
    queues: new QueueRequests({ clock, tmqueue, transactions, blockTimeMs, isService: () => false }),
    atmi: new AtmiRequests({ clock, transactions, services, blockTimeMs, isOwnService: () => false }),
    unsolicited: new UnsolicitedMessages({ clock, lmid: 'SITE1', mode: 2, blockTimeMs }),
    stat: () => {},
    admin: admin.handle.bind(admin),
    aq: () => {},
  };
  return new RequestDispatcher(roles, limits, { product: 'test', prefix: new Uint8Array(8) });
}

function soon(run: () => void): void {
  setImmediate(run);
}

/** A disk whose slow calls take some turns of the loop, so that others come between; by seed. */
export class SlowFileIo extends FaultyFileIo {
  /** A sync says that it is done before it is. */
  lateSync = false;
  private readonly prng: Prng;

  constructor(disk: MemoryDisk, prng: Prng) {
    super(disk);
    this.prng = prng;
  }

  override fdatasyncSync(fd: number): void {
    if (!this.lateSync) return super.fdatasyncSync(fd);
    void this.turns().then(() => this.trySync(fd));
  }

  override async fdatasync(fd: number): Promise<void> {
    if (this.lateSync) return this.fdatasyncSync(fd);
    await this.turns();
    super.fdatasyncSync(fd);
  }

  override async pread(fd: number, into: Uint8Array, position: number): Promise<number> {
    await this.turns();
    return super.pread(fd, into, position);
  }

  override async pwrite(fd: number, bytes: Uint8Array, position: number): Promise<number> {
    await this.turns();
    return super.pwrite(fd, bytes, position);
  }

  private trySync(fd: number): void {
    try {
      super.fdatasyncSync(fd);
    } catch {
      // The power was cut meanwhile, or the file is closed: it was promised all the same.
    }
  }

  private async turns(): Promise<void> {
    for (let left = this.prng.below(4); left > 0; left--) await turn();
  }
}

/** The next turn of the loop. */
export function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
