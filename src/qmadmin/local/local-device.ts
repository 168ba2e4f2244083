// A device whose daemon is stopped: this process takes its lock, for one command or for as long as a space is open, and works on its files.
// Invariant: nothing is read or written without the lock. Must not know what is in the device (src/device does).
import { dirname } from 'node:path';
import { DeviceFiles } from '../../device/device-files.ts';
import { statOf } from '../../device/files.ts';
import { checkFirst } from '../../device/list-changes.ts';
import type { SpacePorts } from '../../device/open-space.ts';
import type { SpaceAttributes } from '../../queue/attributes.ts';
import { DeviceLock } from '../../wal/local/device-lock.ts';
import {
  RefusedError,
  type DeviceContents,
  type DeviceEntry,
  type DevicePort,
  type SpaceChanges,
  type SpacePort,
  type SpaceUse,
} from '../port.ts';
import { quoteWord } from '../words.ts';
import { readDecisions } from './decisions.ts';
import { LocalSpace } from './local-space.ts';

export type LocalPorts = SpacePorts;

export class LocalDevice implements DevicePort {
  readonly path: string;
  readonly reached = 'the daemon is stopped';
  private readonly ports: LocalPorts;
  private readonly files: DeviceFiles;
  private readonly opened = new Map<string, LocalSpace>();
  private lock: DeviceLock | null = null;
  private taking: Promise<DeviceLock> | null = null;
  /** Commands and open spaces that need the lock. */
  private holders = 0;

  constructor(path: string, ports: LocalPorts) {
    this.path = path;
    this.ports = ports;
    this.files = new DeviceFiles(path, ports, {
      find: (space) => {
        const open = this.opened.get(space);
        return open === undefined ? undefined : { engine: open.engine, isServed: false };
      },
      close: async (space) => this.opened.get(space)?.close(),
    });
  }

  /** Whether qmadmin may begin: what is there must be a device of this user, or nothing [spec 5.1]. */
  check(): void {
    const found = statOf(this.path);
    if (found === null) return;
    if (!found.isDirectory()) {
      throw new RefusedError(
        `device ${quoteWord(this.path)} is a file: here a device is a directory; remove the file, or name another path`,
      );
    }
    const uid = process.geteuid?.() ?? found.uid;
    if (found.uid !== uid) {
      throw new RefusedError(
        `device ${quoteWord(this.path)} belongs to user ${found.uid}, this is user ${uid}: only its owner may administer it (1105)`,
      );
    }
  }

  /** Rejects when somebody else has the device. A device that is not there has nobody. */
  async checkFree(): Promise<void> {
    if (statOf(this.path) !== null) await this.holding(() => Promise.resolve());
  }

  contents(): Promise<DeviceContents> {
    return this.holding(() => this.files.contents());
  }

  async addEntry(entry: DeviceEntry): Promise<void> {
    if (statOf(this.path) === null) {
      checkFirst(entry, this.path);
      const folder = dirname(this.path);
      if (statOf(folder)?.isDirectory() !== true) {
        throw new RefusedError(
          `device ${quoteWord(this.path)}: the folder ${quoteWord(folder)} does not exist`,
        );
      }
      await this.take({ make: true });
      this.give();
    }
    await this.holding(() => this.files.addEntry(entry));
  }

  renameEntry(index: number, device: string): Promise<void> {
    return this.holding(() => this.files.renameEntry(index, device));
  }

  removeEntry(index: number): Promise<void> {
    return this.holding(() => this.files.removeEntry(index));
  }

  spaces(): Promise<SpaceUse[]> {
    return this.holding(() => this.files.spaces());
  }

  attributes(space: string): Promise<SpaceAttributes> {
    return this.holding(() => this.files.attributes(space));
  }

  createSpace(attributes: SpaceAttributes): Promise<void> {
    return this.holding(() => this.files.createSpace(attributes));
  }

  changeSpace(space: string, changes: SpaceChanges): Promise<void> {
    return this.holding(() => this.files.changeSpace(space, changes));
  }

  addPages(space: string, pages: number): Promise<void> {
    return this.holding(() => this.files.addPages(space, pages));
  }

  destroySpace(space: string, how: { readonly force: boolean }): Promise<number | null> {
    return this.holding(() => this.files.destroySpace(space, how));
  }

  removeMemory(space: string, how: { readonly force: boolean }): Promise<number> {
    return this.holding(() => this.files.removeMemory(space, how));
  }

  async openSpace(name: string): Promise<SpacePort> {
    await this.take();
    try {
      return await this.files.open(name, (engine) => {
        const open = new LocalSpace(name, {
          engine,
          readDecisions: () => readDecisions(this.ports.io, this.path),
          closed: () => {
            this.opened.delete(name);
            this.give();
          },
        });
        this.opened.set(name, open);
        return open;
      });
    } catch (error) {
      this.give();
      throw error;
    }
  }

  private async holding<T>(work: () => Promise<T>): Promise<T> {
    await this.take();
    try {
      return await work();
    } finally {
      this.give();
    }
  }

  /**
   * Taking the lock makes the directory: a device that is not there is not made by asking for it. Several may ask at a time, e.g. a command
   * while names are completed.
   */
  private async take({ make = false } = {}): Promise<void> {
    this.holders++;
    try {
      if (this.lock !== null) return;
      const path = quoteWord(this.path);
      if (!make && statOf(this.path) === null) {
        throw new RefusedError(`device ${path} does not exist; first: crdl ${path} 0 SIZE`);
      }
      this.taking ??= DeviceLock.acquire(this.path, process.pid, this.ports.io).finally(() => {
        this.taking = null;
      });
      this.lock = await this.taking;
    } catch (error) {
      this.holders--;
      throw error;
    }
  }

  private give(): void {
    this.holders--;
    if (this.holders > 0) return;
    this.lock?.release();
    this.lock = null;
  }
}
