// A device whose daemon is stopped: this process takes its lock, for one command or for as long as a space is open, and works on its files.
// Invariants: nothing is read or written without the lock; a space is there, whole, or not there: it is made under another name and renamed.
// Must not know the log's files.
import { realpathSync, rmSync, statSync, type Stats } from 'node:fs';
import { dirname, join } from 'node:path';
import type { SpaceAttributes } from '../../queue/attributes.ts';
import { DeviceLock } from '../../wal/local/device-lock.ts';
import { errorCode, errorText } from '../../wal/local/file-io.ts';
import { LogError } from '../../wal/log-store.ts';
import { spaceDirectoryName, spaceOfDirectory } from '../../wal/local/segment.ts';
import {
  freePages,
  RefusedError,
  type DeviceContents,
  type DeviceEntry,
  type DevicePort,
  type SpacePort,
} from '../port.ts';
import { quoteWord } from '../words.ts';
import { readDeviceList, writeDeviceList } from './device-list.ts';
import { LocalSpace, type LocalPorts } from './local-space.ts';

/** [spec 8.1] */
const ENTRIES_MAX = 25;
/** A space that is being made. No space's own directory has a dot in its name. */
const UNFINISHED = '.new';

export class LocalDevice implements DevicePort {
  readonly path: string;
  readonly reached = 'the daemon is stopped';
  private readonly ports: LocalPorts;
  private lock: DeviceLock | null = null;
  /** Commands and open spaces that need the lock. */
  private holders = 0;

  constructor(path: string, ports: LocalPorts) {
    this.path = path;
    this.ports = ports;
  }

  /** Whether qmadmin may begin: what is there must be a free device of this user, or nothing [spec 5.1]. */
  async check(): Promise<void> {
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
    try {
      await this.holding(() => Promise.resolve());
    } catch (error) {
      // With a cause it is a call that failed, not another holder.
      if (!(error instanceof LogError) || error.kind !== 'Unavailable' || error.cause !== undefined)
        throw error;
      throw new RefusedError(
        `${error.message}; this release administers a device only while its daemon is stopped`,
        {
          cause: error,
        },
      );
    }
  }

  contents(): Promise<DeviceContents> {
    return this.holding(() => this.read());
  }

  async addEntry(entry: DeviceEntry): Promise<void> {
    if (statOf(this.path) === null) {
      this.checkFirst(entry);
      const folder = dirname(this.path);
      if (statOf(folder)?.isDirectory() !== true) {
        throw new RefusedError(
          `device ${quoteWord(this.path)}: the folder ${quoteWord(folder)} does not exist`,
        );
      }
      await this.take({ make: true });
      this.give();
    }
    await this.holding(async () => {
      const { entries, extents } = await this.read();
      if (entries.length === 0) this.checkFirst(entry);
      checkOverlap(entries, entry);
      if (entries.length >= ENTRIES_MAX) {
        throw new RefusedError(`the device list is full: ${ENTRIES_MAX} entries`);
      }
      await writeDeviceList(this.ports.io, this.path, { entries: [...entries, entry], extents });
    });
  }

  spaces(): Promise<string[]> {
    return this.holding(async () => {
      const names = await this.ports.io.readdir(this.path);
      return names.flatMap((name) => spaceOfDirectory(name) ?? []).sort();
    });
  }

  createSpace(attributes: SpaceAttributes): Promise<void> {
    return this.holding(async () => {
      const { name, pages } = attributes;
      if (statOf(this.directoryOf(name)) !== null) {
        throw new RefusedError(`queue space ${quoteWord(name)} exists already; nothing was changed`);
      }
      const contents = await this.read();
      const free = freePages(contents);
      if (contents.entries.length === 0)
        throw new RefusedError('the device list is empty; first: crdl DEVICE 0 SIZE');
      if (pages > free) {
        throw new RefusedError(`${pages} pages do not fit: the device list has ${free} free pages`);
      }
      await this.removeUnfinished();
      const extents = [...contents.extents, { space: name, pages }];
      await writeDeviceList(this.ports.io, this.path, { entries: contents.entries, extents });
      const unfinished = `${this.directoryOf(name)}${UNFINISHED}`;
      try {
        await this.makeSpace(attributes, unfinished);
      } catch (error) {
        // On a full disk what was laid out for it is what is missing.
        rmSync(unfinished, { recursive: true, force: true });
        throw new RefusedError(`queue space ${quoteWord(name)} was not created: ${errorText(error)}`, {
          cause: error,
        });
      }
      await this.ports.io.rename(unfinished, this.directoryOf(name));
      await this.ports.io.fsyncDir(this.path);
    });
  }

  async openSpace(name: string): Promise<SpacePort> {
    await this.take();
    const dir = this.directoryOf(name);
    if (statOf(dir) === null) {
      this.give();
      throw new RefusedError(
        `queue space ${quoteWord(name)} does not exist on device ${quoteWord(this.path)}`,
      );
    }
    const space = await LocalSpace.open({ name, dir }, this.ports, () => this.give());
    if (space.attributes().name !== '') return space;
    // No space is put in its place before its definition is durable.
    await space.close();
    throw new RefusedError(
      `queue space ${quoteWord(name)} is not whole: its log in ${quoteWord(dir)} does not say what it was made with`,
    );
  }

  private async makeSpace(attributes: SpaceAttributes, dir: string): Promise<void> {
    const space = await LocalSpace.open({ name: attributes.name, dir }, this.ports, () => {});
    try {
      await space.defineSpace(attributes);
    } finally {
      await space.close();
    }
  }

  /** Pages of spaces that a crash kept from being made, or that are no more, are free again. */
  private async read(): Promise<DeviceContents> {
    const { entries, extents } = await readDeviceList(this.ports.io, this.path);
    return { entries, extents: extents.filter(({ space }) => statOf(this.directoryOf(space)) !== null) };
  }

  private checkFirst({ device, offset }: DeviceEntry): void {
    if (sameFile(device, this.path) && offset === 0) return;
    throw new RefusedError(
      `the first entry of the device list is the QMCONFIG device: crdl ${quoteWord(this.path)} 0 SIZE`,
    );
  }

  private async removeUnfinished(): Promise<void> {
    for (const name of await this.ports.io.readdir(this.path)) {
      if (name.endsWith(UNFINISHED)) rmSync(join(this.path, name), { recursive: true, force: true });
    }
  }

  private directoryOf(space: string): string {
    return join(this.path, spaceDirectoryName(space));
  }

  private async holding<T>(work: () => Promise<T>): Promise<T> {
    await this.take();
    try {
      return await work();
    } finally {
      this.give();
    }
  }

  /** Taking the lock makes the directory: a device that is not there is not made by asking for it. */
  private async take({ make = false } = {}): Promise<void> {
    if (this.lock === null) {
      const path = quoteWord(this.path);
      if (!make && statOf(this.path) === null) {
        throw new RefusedError(`device ${path} does not exist; first: crdl ${path} 0 SIZE`);
      }
      this.lock = await DeviceLock.acquire(this.path, process.pid, this.ports.io);
    }
    this.holders++;
  }

  private give(): void {
    this.holders--;
    if (this.holders > 0) return;
    this.lock?.release();
    this.lock = null;
  }
}

function statOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return null;
    throw new RefusedError(errorText(error), { cause: error });
  }
}

/** The same path, or another way to the same file. */
function sameFile(one: string, other: string): boolean {
  return one === other || realPathOf(one) === realPathOf(other);
}

function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

function checkOverlap(entries: readonly DeviceEntry[], { device, offset, pages }: DeviceEntry): void {
  for (const [index, entry] of entries.entries()) {
    if (!sameFile(entry.device, device)) continue;
    if (entry.offset === offset && entry.pages === pages) {
      throw new RefusedError(`the entry exists already, as number ${index}; nothing was changed`);
    }
    if (offset < entry.offset + entry.pages && entry.offset < offset + pages) {
      const theirs = `${entry.offset}..${entry.offset + entry.pages - 1}`;
      throw new RefusedError(
        `pages ${offset}..${offset + pages - 1} overlap entry ${index}, which has ${theirs}`,
      );
    }
  }
}
