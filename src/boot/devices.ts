// Devices and the spaces on them: one OS lock a device, one log a space, opened with what the configuration says of it (declared.ts).
import { dirname, join } from 'node:path';
import type { Clock, Timer } from '../base/clock.ts';
import type { Ulog } from '../base/ulog.ts';
import type { Soon } from '../engine/journal.ts';
import { openSpace } from '../engine/open-space.ts';
import type { EnginePorts, SpaceEngine } from '../engine/space-engine.ts';
import { openTlog, type Tlog } from '../engine/tlog.ts';
import type { SpacePorts } from '../device/open-space.ts';
import type { HostPlan, SpacePlan } from '../ubb/plan.ts';
import type { LogStore } from '../wal/log-store.ts';
import { DeviceLock } from '../wal/local/device-lock.ts';
import { nodeFileIo, type FileIo } from '../wal/local/file-io.ts';
import { openLocalLog } from '../wal/local/local-log.ts';
import { PageCache } from '../wal/local/page-cache.ts';
import type { Allocate } from '../wal/local/segment-maker.ts';
import { spaceDirectoryName, tlogDirectoryName } from '../wal/local/segment.ts';
import { SyncStrategy, type SyncSetting } from '../wal/local/sync-strategy.ts';
import { declare } from './declared.ts';
import { hasDirectory, spacesOn } from './left-behind.ts';

export interface DeviceOptions {
  /** Where a sync runs; decided by measurement when not given. */
  readonly sync?: SyncSetting;
  /** Bytes of a log segment, for new spaces. */
  readonly segmentBytes?: number;
  /** Bytes of memory for recent message data, all spaces together; 64 MiB when not given. */
  readonly cacheBytes?: number;
  /** Tests hand in a disk with faults. */
  readonly io?: FileIo;
  /** How the system sets space for a file aside, if it can. */
  readonly allocate?: Allocate;
}

/** Decisions are few and small. */
const TLOG_SEGMENT_BYTES = 1024 * 1024;
/** Between two pages of the cache that are made ahead, in milliseconds: 64 MiB take one to two seconds. */
const WARM_UP_STEP_MS = 4;
const WORD_BYTES = 4;
const IDENTITY_BYTES = 16;

export interface DevicePorts {
  readonly clock: Clock;
  readonly ulog: Ulog;
  readonly soon: Soon;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly pid: number;
  readonly runCommand: EnginePorts['runCommand'];
}

export class Devices {
  private readonly ports: DevicePorts;
  private readonly options: DeviceOptions;
  private readonly io: FileIo;
  private readonly locks = new Map<string, DeviceLock>();
  /** Names of the open spaces by their identity. */
  private readonly identities = new Map<number, string>();
  private readonly sync: SyncStrategy;
  private readonly pages: PageCache;
  private warming: Timer | null = null;

  constructor(ports: DevicePorts, options: DeviceOptions) {
    this.ports = ports;
    this.options = options;
    this.io = options.io ?? nodeFileIo;
    this.pages = new PageCache(options.cacheBytes);
    this.sync = new SyncStrategy(options.sync ?? 'auto', ports.clock);
  }

  /**
   * Opens a space, creating what is declared and missing. `onProgress` is told the share that is read. Rejects with a sentence that names the
   * space and its device.
   */
  async open(
    plan: SpacePlan,
    { signal, onProgress }: { signal: AbortSignal; onProgress: (share: number) => void },
  ): Promise<SpaceEngine> {
    const dir = join(plan.device, spaceDirectoryName(plan.name));
    if (!plan.declared && !(await hasDirectory(this.io, dir))) {
      throw new Error(
        `queue space ${plan.name} does not exist on device ${plan.device}: declare it in *QSPACES and *QUEUES, ` +
          'or create it with qmadmin (crdl, qspacecreate) before the start',
      );
    }
    await this.checkFolder(plan.device, `queue space ${plan.name}`);
    const isNew = !(await hasDirectory(this.io, dir));
    await this.lock(plan.device);
    const { ulog } = this.ports;
    const store = await this.openLog(dir, this.options.segmentBytes);
    const ports = { ...this.ports, onProgress };
    const engine = await openSpace(store, signal, ports).catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
    try {
      this.admitIdentity(engine.space.spaceId, plan);
      await declare(plan, engine, { isNew, ulog });
      if (engine.space.name === '') {
        const place = `its log in ${dir} does not say what it was made with`;
        throw new Error(`queue space ${plan.name} is not whole: ${place}; *QSPACES does not declare it`);
      }
    } catch (error) {
      await engine.close();
      throw error;
    }
    const { live } = engine.space.messages;
    ulog.info(`queue space ${plan.name} is ${isNew ? 'new: created' : 'open'}`, {
      space: plan.name,
      device: plan.device,
      messages: live,
    });
    return engine;
  }

  /**
   * Opens the transaction log, making it when `needed`; null: there is none, and none is needed. Rejects with a LogError when it is damaged,
   * or with a sentence that names its device.
   */
  async openTlog(
    plan: HostPlan['tlog'],
    { needed, signal }: { needed: boolean; signal: AbortSignal },
  ): Promise<Tlog | null> {
    const dir = join(plan.device, tlogDirectoryName(plan.name));
    if (!needed && !(await hasDirectory(this.io, dir))) return null;
    await this.checkFolder(plan.device, `transaction log ${plan.name} (TLOGDEVICE)`);
    await this.lock(plan.device);
    const segmentBytes = Math.min(TLOG_SEGMENT_BYTES, this.options.segmentBytes ?? TLOG_SEGMENT_BYTES);
    const store = await this.openLog(dir, segmentBytes);
    return openTlog(store, signal, { ...this.ports, newIdentity: this.newIdentity }).catch(
      async (error: unknown) => {
        await store.close();
        throw error;
      },
    );
  }

  /** Names what lies on the devices and is not in the configuration: it stays as it is. */
  async warnOfLeftBehind(plans: readonly SpacePlan[]): Promise<void> {
    for (const device of this.locks.keys()) {
      const hosted = plans.filter((plan) => plan.device === device).map((plan) => plan.name);
      for (const space of await spacesOn(this.io, device)) {
        if (hosted.includes(space)) continue;
        this.ports.ulog.warn(
          `queue space ${space} lies on device ${device} but is no longer in the configuration; it stays, with its messages`,
          { space, device },
        );
      }
    }
  }

  /** The devices that are held. */
  paths(): string[] {
    return [...this.locks.keys()];
  }

  /** Says beside each lock where its holder can be reached; null: nowhere. */
  async noteAddress(address: string | null): Promise<void> {
    for (const lock of this.locks.values()) await lock.noteAddress(this.ports.pid, address);
  }

  /** For administration of what lies on the devices. */
  spacePorts(): SpacePorts {
    const { clock, ulog, runCommand } = this.ports;
    const { segmentBytes } = this.options;
    return { clock, ulog, io: this.io, runCommand, ...(segmentBytes === undefined ? {} : { segmentBytes }) };
  }

  /** Makes the page cache ready, a page at a time, while the daemon serves. */
  warmUp(): void {
    const { clock } = this.ports;
    this.warming = clock.setTimer(clock.monoMs() + WARM_UP_STEP_MS, () => {
      if (this.pages.makeAhead()) this.warmUp();
    });
  }

  /** Gives the devices free. */
  close(): void {
    this.warming?.cancel();
    for (const lock of this.locks.values()) lock.release();
    this.locks.clear();
  }

  /** A plain copy of a space gives the msgids that the other one gives. */
  private admitIdentity(identity: number, { name, device }: SpacePlan): void {
    const other = this.identities.get(identity);
    if (other !== undefined) {
      throw new Error(
        `queue space ${name} on device ${device} has the identity of queue space ${other}: one is a copy of the other, and both would give ` +
          'the same msgids; make the copy with tmqueue backup and tmqueue restore, which gives it an identity of its own',
      );
    }
    this.identities.set(identity, name);
  }

  private openLog(dir: string, segmentBytes: number | undefined): Promise<LogStore> {
    const { clock, ulog } = this.ports;
    return openLocalLog({
      dir,
      clock,
      ulog,
      sync: this.sync,
      pages: this.pages,
      io: this.io,
      randomU32: this.randomU32,
      ...(this.options.allocate === undefined ? {} : { allocate: this.options.allocate }),
      ...(segmentBytes === undefined ? {} : { segmentBytes }),
    });
  }

  private async checkFolder(device: string, what: string): Promise<void> {
    const folder = dirname(device);
    if (await hasDirectory(this.io, folder)) return;
    throw new Error(`${what}: device ${device}: the folder ${folder} does not exist (APPDIR, or --appdir)`);
  }

  private async lock(device: string): Promise<void> {
    if (this.locks.has(device)) return;
    this.locks.set(device, await DeviceLock.acquire(device, this.ports.pid, this.io));
  }

  private readonly randomU32 = (): number => Buffer.from(this.ports.randomBytes(WORD_BYTES)).readUInt32LE(0);

  private readonly newIdentity = (): string =>
    Buffer.from(this.ports.randomBytes(IDENTITY_BYTES)).toString('hex');
}
