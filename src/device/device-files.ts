// A device by its files. Whoever calls holds its lock. Invariants: one operation at a time; a space is there, whole, or not there: it is made
// under another name and renamed, and renamed before it is removed; the log of a space that somebody has open is never opened a second time.
// Must not know the log's files.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { quoteWord } from '../base/quote-word.ts';
import type { SpaceEngine } from '../engine/space-engine.ts';
import type { SpaceAttributes } from '../queue/attributes.ts';
import { errorText } from '../wal/local/file-io.ts';
import { LogError } from '../wal/log-store.ts';
import { spaceDirectoryName, spaceOfDirectory } from '../wal/local/segment.ts';
import { readDeviceList, writeDeviceList } from './device-list.ts';
import {
  RefusedError,
  type DeviceAdmin,
  type DeviceContents,
  type DeviceEntry,
  type Force,
  type Refusal,
  type SpaceChanges,
  type SpaceUse,
} from './device.ts';
import { statOf } from './files.ts';
import { define, openEngine, removeMemoryMessages, withEngine, type SpacePorts } from './open-space.ts';
import { partOf, withEntry, withExtents, withoutEntry, withRenamed } from './list-changes.ts';

/** A space that is being made, and one that is being removed. No space's own directory has a dot in its name. */
const UNFINISHED = '.new';
const REMOVED = '.gone';

/** A space whose log is open in this process. */
export interface OpenedSpace {
  readonly engine: SpaceEngine;
  /** By a server: for everyone. */
  readonly isServed: boolean;
}

/** Which spaces of the device this process has open. */
export interface OpenSpaces {
  find(space: string): OpenedSpace | undefined;
  /** Closes one that is not served. */
  close(space: string): Promise<void>;
}

export class DeviceFiles implements DeviceAdmin {
  readonly path: string;
  private readonly ports: SpacePorts;
  private readonly opened: OpenSpaces;
  private last: Promise<unknown> = Promise.resolve();

  constructor(path: string, ports: SpacePorts, opened: OpenSpaces) {
    this.path = path;
    this.ports = ports;
    this.opened = opened;
  }

  contents(): Promise<DeviceContents> {
    return this.alone(() => this.read());
  }

  addEntry(entry: DeviceEntry): Promise<void> {
    return this.alone(async () => this.write(withEntry(await this.read(), entry, this.path)));
  }

  renameEntry(index: number, device: string): Promise<void> {
    return this.alone(async () => this.write(withRenamed(await this.read(), index, device)));
  }

  removeEntry(index: number): Promise<void> {
    return this.alone(async () => this.write(withoutEntry(await this.read(), index)));
  }

  spaces(): Promise<SpaceUse[]> {
    return this.alone(async () => {
      const names = await this.ports.io.readdir(this.path);
      const spaces = names.flatMap((name) => spaceOfDirectory(name) ?? []);
      return spaces
        .filter((name) => this.has(name))
        .sort()
        .map((name) => this.useOf(name));
    });
  }

  attributes(space: string): Promise<SpaceAttributes> {
    return this.alone(() => this.within(space, (engine) => engine.space.attributes));
  }

  createSpace(attributes: SpaceAttributes): Promise<void> {
    return this.alone(async () => {
      const { name, pages } = attributes;
      if (statOf(this.directoryOf(name)) !== null) {
        throw refused('exists', `queue space ${quoteWord(name)} exists already; nothing was changed`);
      }
      const contents = await this.read();
      await this.removeUnfinished();
      await this.write(withExtents(contents, [...contents.extents, { space: name, pages }]));
      const unfinished = `${this.directoryOf(name)}${UNFINISHED}`;
      try {
        const { ports } = this;
        await withEngine(unfinished, ports, (engine) => define(engine, { kind: 'defineSpace', attributes }));
      } catch (error) {
        // On a full disk what was laid out for it is what is missing.
        await rm(unfinished, { recursive: true, force: true });
        const message = `queue space ${quoteWord(name)} was not created: ${errorText(error)}`;
        throw new RefusedError(message, { cause: error, refusal: 'failed' });
      }
      await this.ports.io.rename(unfinished, this.directoryOf(name));
      await this.ports.io.fsyncDir(this.path);
    });
  }

  changeSpace(space: string, changes: SpaceChanges): Promise<void> {
    return this.alone(async () => {
      await this.setAside(space, 'be changed');
      await this.within(space, async (engine) => {
        const { attributes, messages, branches } = engine.space;
        checkHolds(changes.messages, messages.live, `${messages.live} messages (2205)`);
        checkHolds(changes.transactions, branches.active, `${branches.active} transactions`);
        await define(engine, { kind: 'defineSpace', attributes: { ...attributes, ...changes } });
      });
    });
  }

  addPages(space: string, pages: number): Promise<void> {
    return this.alone(async () => {
      await this.setAside(space, 'get pages');
      const contents = await this.read();
      const own = contents.extents.filter((extent) => extent.space === space);
      if (own.length === 0) {
        const why = `has no pages of the device list: what it may take is said in *QSPACES (PAGES)`;
        throw refused('illegal', `queue space ${quoteWord(space)} ${why}`);
      }
      await this.within(space, async (engine) => {
        const { attributes } = engine.space;
        // The list first, so that nobody else gets the pages. What a crash between the two left there is taken off.
        const kept = partOf(own, attributes.pages);
        const others = contents.extents.filter((extent) => extent.space !== space);
        await this.write(withExtents(contents, [...others, ...kept, { space, pages }]));
        await define(engine, {
          kind: 'defineSpace',
          attributes: { ...attributes, pages: attributes.pages + pages },
        });
      });
    });
  }

  destroySpace(space: string, { force }: Force): Promise<number | null> {
    return this.alone(async () => {
      await this.setAside(space, 'be destroyed');
      const held = await this.heldBy(space, force);
      if (!force && held !== null && held.messages + held.transactions > 0) {
        const what = `${held.messages} messages and ${held.transactions} transactions in doubt`;
        throw refused(
          'in use',
          `queue space ${quoteWord(space)} holds ${what}; it stays: -f destroys it with them`,
        );
      }
      const { io } = this.ports;
      await this.removeUnfinished();
      const removed = `${this.directoryOf(space)}${REMOVED}`;
      await io.rename(this.directoryOf(space), removed);
      await io.fsyncDir(this.path);
      const { entries, extents } = await this.read();
      if (entries.length > 0) await writeDeviceList(io, this.path, { entries, extents });
      await rm(removed, { recursive: true, force: true });
      return held === null ? null : held.messages;
    });
  }

  removeMemory(space: string, { force }: Force): Promise<number> {
    return this.alone(async () => {
      this.mustExist(space);
      const opened = this.opened.find(space);
      if (opened === undefined) return 0;
      const { engine, isServed } = opened;
      if (!isServed) {
        const lost = this.useOf(space).nonPersistentMessages;
        await this.opened.close(space);
        return lost;
      }
      if (force) return removeMemoryMessages(engine);
      const message =
        `queue space ${quoteWord(space)} is in use: a daemon serves it; stop the daemon, ` +
        'or say -f, which removes the non-persistent messages that no transaction holds';
      throw refused('in use', message);
    });
  }

  /** Opens the log of a space, for `take` to keep and to close; it may get one that is open already. */
  open<T>(space: string, take: (engine: SpaceEngine) => T): Promise<T> {
    return this.alone(async () => {
      this.mustExist(space);
      const opened = this.opened.find(space);
      if (opened !== undefined) return take(opened.engine);
      const dir = this.directoryOf(space);
      const engine = await openEngine(dir, this.ports);
      try {
        checkWhole({ space, dir }, engine);
      } catch (error) {
        await engine.close();
        throw error;
      }
      return take(engine);
    });
  }

  /** Runs when what was asked before is done. */
  alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.last.then(work, work);
    this.last = result.catch(() => {});
    return result;
  }

  /** With the engine of a space, whoever has it open. */
  private within<T>(space: string, work: (engine: SpaceEngine) => Promise<T> | T): Promise<T> {
    this.mustExist(space);
    const opened = this.opened.find(space);
    if (opened !== undefined) return Promise.resolve(work(opened.engine));
    const dir = this.directoryOf(space);
    return withEngine(dir, this.ports, (engine) => {
      checkWhole({ space, dir }, engine);
      return work(engine);
    });
  }

  /** What the space holds; null: it cannot be read, which only `force` passes over. */
  private async heldBy(
    space: string,
    force: boolean,
  ): Promise<{ messages: number; transactions: number } | null> {
    try {
      // What a destroyed queue has yet to be emptied of is gone already.
      return await this.within(space, ({ space: held }) => ({
        messages: held.queues().reduce((sum, queue) => sum + queue.messages, 0),
        transactions: held.branches.active,
      }));
    } catch (error) {
      if (force && (error instanceof LogError || error instanceof RefusedError)) return null;
      throw error;
    }
  }

  /** Sees to it that nobody has the space open. */
  private async setAside(space: string, what: string): Promise<void> {
    this.mustExist(space);
    const opened = this.opened.find(space);
    if (opened === undefined) return;
    if (!opened.isServed) return this.opened.close(space);
    const message = `queue space ${quoteWord(space)} is in use: the daemon that serves it must be stopped before it can ${what}`;
    throw refused('in use', message);
  }

  private mustExist(space: string): void {
    if (this.has(space)) return;
    const message = `queue space ${quoteWord(space)} does not exist on device ${quoteWord(this.path)}`;
    throw refused('absent', message);
  }

  private has(space: string): boolean {
    return statOf(this.directoryOf(space))?.isDirectory() === true;
  }

  private useOf(name: string): SpaceUse {
    const opened = this.opened.find(name);
    const nothing = { messages: 0, nonPersistentMessages: 0, nonPersistentBytes: 0, transactions: 0 };
    if (opened === undefined) return { name, state: 'closed', ipcKey: 0, ...nothing };
    const { attributes, messages, memory, branches } = opened.engine.space;
    return {
      name,
      state: opened.isServed ? 'served' : 'open',
      ipcKey: attributes.ipcKey,
      messages: messages.live,
      nonPersistentMessages: opened.engine.space
        .queues()
        .reduce((sum, queue) => sum + queue.memoryMessages, 0),
      nonPersistentBytes: memory.usedBytes,
      transactions: branches.active,
    };
  }

  /** Pages of spaces that a crash kept from being made, or that are no more, are free again. */
  private async read(): Promise<DeviceContents> {
    const { entries, extents } = await readDeviceList(this.ports.io, this.path);
    return { entries, extents: extents.filter(({ space }) => statOf(this.directoryOf(space)) !== null) };
  }

  private write(contents: DeviceContents): Promise<void> {
    return writeDeviceList(this.ports.io, this.path, contents);
  }

  private async removeUnfinished(): Promise<void> {
    for (const name of await this.ports.io.readdir(this.path)) {
      if (name.endsWith(UNFINISHED) || name.endsWith(REMOVED)) {
        await rm(join(this.path, name), { recursive: true, force: true });
      }
    }
  }

  private directoryOf(space: string): string {
    return join(this.path, spaceDirectoryName(space));
  }
}

/** No space is put in its place before its definition is durable. */
function checkWhole({ space, dir }: { space: string; dir: string }, engine: SpaceEngine): void {
  if (engine.space.name !== '') return;
  const place = `its log in ${quoteWord(dir)} does not say what it was made with`;
  throw refused('failed', `queue space ${quoteWord(space)} is not whole: ${place}`);
}

/** A limit may not become smaller than what is there. */
function checkHolds(limit: number | undefined, held: number, what: string): void {
  if (limit === undefined || limit === 0 || limit >= held) return;
  throw refused('in use', `${limit} is too few: the space holds ${what}`);
}

function refused(refusal: Refusal, message: string): RefusedError {
  return new RefusedError(message, { refusal });
}
