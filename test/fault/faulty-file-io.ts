// A disk in memory, and a FileIo on it that fails on order. The disk knows what is durable: at a crash every write that was not synced is
// kept, dropped or torn by sector, and every name that was not synced may be lost. It must not know what the files mean.

import type { Prng } from '../../src/base/prng.ts';
import type { FileIo, OpenMode } from '../../src/wal/local/file-io.ts';

const SECTOR = 512;

/** A write that is not durable yet. */
export interface PendingWrite {
  readonly position: number;
  readonly bytes: Uint8Array;
}

export class Inode {
  bytes: Uint8Array = new Uint8Array(0);
  size = 0;
  durable: Uint8Array = new Uint8Array(0);
  pending: PendingWrite[] = [];

  write(bytes: Uint8Array, position: number): void {
    const end = position + bytes.length;
    if (end > this.bytes.length) {
      const grown = new Uint8Array(Math.max(end, 2 * this.bytes.length));
      grown.set(this.bytes.subarray(0, this.size));
      this.bytes = grown;
    }
    this.bytes.set(bytes, position);
    this.size = Math.max(this.size, end);
    this.pending.push({ position, bytes: bytes.slice() });
  }

  truncate(size: number): void {
    if (size > this.size) this.write(new Uint8Array(size - this.size), this.size);
    this.bytes.fill(0, size, this.size);
    this.size = size;
    this.durable = this.bytes.slice(0, size);
    this.pending = [];
  }

  sync(): void {
    if (this.durable.length === this.size) {
      for (const { position, bytes } of this.pending) this.durable.set(bytes, position);
    } else this.durable = this.bytes.slice(0, this.size);
    this.pending = [];
  }

  /** What a sync that began when `last` was the last write makes durable. */
  syncThrough(last: PendingWrite | undefined): void {
    const count = last === undefined ? 0 : this.pending.indexOf(last) + 1;
    if (count === this.pending.length) return this.sync();
    for (const { position, bytes } of this.pending.splice(0, count)) {
      const end = position + bytes.length;
      if (end > this.durable.length) {
        const grown = new Uint8Array(end);
        grown.set(this.durable);
        this.durable = grown;
      }
      this.durable.set(bytes, position);
    }
  }

  /** What the platter has after the power went. */
  afterCrash(keep: (sector: number) => boolean): Uint8Array {
    let result = this.durable;
    for (const { position, bytes } of this.pending) {
      const end = position + bytes.length;
      for (let from = position; from < end;) {
        const to = Math.min(end, (Math.floor(from / SECTOR) + 1) * SECTOR);
        if (keep(from)) {
          if (to > result.length) {
            const grown = new Uint8Array(to);
            grown.set(result);
            result = grown;
          } else if (result === this.durable) result = result.slice();
          result.set(bytes.subarray(from - position, to - position), from);
        }
        from = to;
      }
    }
    return result;
  }

  reset(bytes: Uint8Array): void {
    this.bytes = bytes.slice();
    this.size = bytes.length;
    this.durable = this.bytes.slice();
    this.pending = [];
  }
}

const MOODS: readonly CutMood[] = ['dropped', 'kept', 'torn'];

/** A change of a directory that is not durable yet. */
export type NameChange = { readonly dir: string; readonly apply: (names: Map<string, Inode>) => void };

/** What a fault does to the call it hits. `short`: half of it is done; `stuck`: nothing, but it says so. */
export type FaultKind = 'EIO' | 'ENOSPC' | 'EMFILE' | 'EROFS' | 'ENOENT' | 'short' | 'stuck';

/** What of the unsynced a power cut leaves: by chance for each file, all of it, none, or some sectors and names of it. */
export type CutMood = 'chance' | 'kept' | 'dropped' | 'torn';

export class MemoryDisk {
  names = new Map<string, Inode>();
  #durableNames = new Map<string, Inode>();
  #pendingNames: NameChange[] = [];

  changeName(change: NameChange): void {
    change.apply(this.names);
    this.#pendingNames.push(change);
  }

  syncNames(dir: string): void {
    const rest: NameChange[] = [];
    for (const change of this.#pendingNames) {
      if (change.dir === dir) change.apply(this.#durableNames);
      else rest.push(change);
    }
    this.#pendingNames = rest;
  }

  /** The power goes and comes back. */
  crash(prng: Prng, cut: CutMood = 'chance'): void {
    const names = this.#durableNames;
    const isKept = (mood: CutMood): boolean => mood === 'kept' || (mood !== 'dropped' && prng.oneIn(2));
    for (const change of this.#pendingNames) if (isKept(cut)) change.apply(names);
    this.#pendingNames = [];
    for (const inode of new Set(names.values())) {
      const mood = cut === 'chance' ? (MOODS[prng.below(MOODS.length)] ?? 'torn') : cut;
      inode.reset(inode.afterCrash(() => isKept(mood)));
    }
    this.names = new Map(names);
    this.#durableNames = new Map(names);
  }

  /** What all files have together, durable or not. */
  get bytes(): number {
    return [...new Set(this.names.values())].reduce((sum, inode) => sum + inode.size, 0);
  }

  files(): string[] {
    return [...this.names.keys()].toSorted();
  }

  read(path: string): Uint8Array {
    const inode = this.#inode(path);
    return inode.bytes.slice(0, inode.size);
  }

  /** Replaces a file's content, durably. */
  replace(path: string, bytes: Uint8Array): void {
    const inode = this.names.get(path) ?? new Inode();
    inode.reset(bytes);
    this.names.set(path, inode);
    this.#durableNames.set(path, inode);
  }

  remove(path: string): void {
    this.names.delete(path);
    this.#durableNames.delete(path);
  }

  /** The content of all files, to compare. */
  snapshot(): Map<string, string> {
    return new Map(this.files().map((path) => [path, Buffer.from(this.read(path)).toString('latin1')]));
  }

  clone(): MemoryDisk {
    const copy = new MemoryDisk();
    for (const path of this.files()) copy.replace(path, this.read(path));
    return copy;
  }

  #inode(path: string): Inode {
    const inode = this.names.get(path);
    if (inode === undefined) throw failure('ENOENT', path);
    return inode;
  }

  inodeOf(path: string): Inode {
    return this.#inode(path);
  }
}

export function failure(code: string, what: string): Error {
  return Object.assign(new Error(`${code}: injected, ${what}`), { code });
}

export interface Call {
  readonly n: number;
  readonly name: string;
  /** The file, or the directory, that it is about; of a renaming the new name. */
  readonly path: string;
  /** An `open` that makes a file. */
  readonly creates: boolean;
  /** A sync of a file that is no part of the log itself. */
  readonly ofCheckpoint: boolean;
}

export class FaultyFileIo implements FileIo {
  readonly disk: MemoryDisk;
  calls = 0;
  /** Which calls fail, and how. */
  faults: (call: Call) => FaultKind | null = () => null;
  /** What is said to be synced is not: the negative control. */
  lyingSync = false;
  /** What the disk takes; a write that needs more gets what is left, the next one ENOSPC. */
  capacityBytes = Infinity;
  /** Descriptors that were closed twice: in a real process that closes somebody else's file. */
  badCloses = 0;
  #gate: Promise<void> = Promise.resolve();
  readonly #open = new Map<number, Inode>();
  readonly #paths = new Map<number, string>();
  readonly log: string[] = [];

  constructor(disk: MemoryDisk) {
    this.disk = disk;
  }

  get openFiles(): number {
    return this.#open.size;
  }

  open(path: string, mode: OpenMode): number {
    this.#check('open', path, !this.disk.names.has(path) && (mode === 'create' || mode === 'ensure'));
    if (!this.disk.names.has(path)) {
      if (mode === 'read' || mode === 'write') throw failure('ENOENT', path);
      const inode = new Inode();
      this.disk.changeName({ dir: parentOf(path), apply: (names) => names.set(path, inode) });
    } else if (mode === 'create') throw failure('EEXIST', path);
    // The lowest free number, as the system does: a descriptor that is used after its end is somebody else's by then.
    let fd = 3;
    while (this.#open.has(fd)) fd++;
    this.#open.set(fd, this.disk.inodeOf(path));
    this.#paths.set(fd, path);
    return fd;
  }

  close(fd: number): void {
    if (!this.#open.has(fd)) this.badCloses++;
    this.#inode(fd);
    this.#open.delete(fd);
    this.#paths.delete(fd);
  }

  preadSync(fd: number, into: Uint8Array, position: number): number {
    const inode = this.#inode(fd);
    const fault = this.#check('pread', this.#path(fd));
    const length = Math.max(0, Math.min(into.length, inode.size - position));
    const read = fault === 'stuck' ? 0 : fault === 'short' ? Math.floor(length / 2) : length;
    into.set(inode.bytes.subarray(position, position + read));
    return read;
  }

  /** Reads wait until the function that is returned is called. */
  holdReads(): () => void {
    const held: { release?: () => void } = {};
    this.#gate = new Promise((resolve) => {
      held.release = resolve;
    });
    return () => held.release?.();
  }

  async pread(fd: number, into: Uint8Array, position: number): Promise<number> {
    await this.#gate;
    return this.preadSync(fd, into, position);
  }

  pwriteSync(fd: number, bytes: Uint8Array, position: number): number {
    return this.#write(fd, bytes, position);
  }

  async pwrite(fd: number, bytes: Uint8Array, position: number): Promise<number> {
    await Promise.resolve();
    return this.pwriteSync(fd, bytes, position);
  }

  writevSync(fd: number, chunks: readonly Uint8Array[], position: number): number {
    return this.#write(fd, Buffer.concat(chunks), position);
  }

  fdatasyncSync(fd: number): void {
    const inode = this.#inode(fd);
    try {
      this.#check('fdatasync', this.#path(fd));
    } catch (error) {
      // After a failed sync the pages are clean, but not on the disk.
      inode.pending = [];
      throw error;
    }
    if (!this.lyingSync) inode.sync();
  }

  async fdatasync(fd: number): Promise<void> {
    await Promise.resolve();
    this.fdatasyncSync(fd);
  }

  async truncate(fd: number, bytes: number): Promise<void> {
    await Promise.resolve();
    this.#check('truncate', this.#path(fd));
    this.#inode(fd).truncate(bytes);
  }

  fileBytes(fd: number): number {
    this.#check('stat', this.#path(fd));
    return this.#inode(fd).size;
  }

  async mkdir(dir: string): Promise<void> {
    await Promise.resolve();
    this.#check('mkdir', dir);
  }

  async fsyncDir(dir: string): Promise<void> {
    await Promise.resolve();
    this.#check('fsyncDir', dir);
    this.disk.syncNames(dir);
  }

  async readdir(dir: string): Promise<string[]> {
    await Promise.resolve();
    this.#check('readdir', dir);
    return this.disk
      .files()
      .filter((path) => parentOf(path) === dir)
      .map((path) => path.slice(dir.length + 1));
  }

  async rename(from: string, to: string): Promise<void> {
    await Promise.resolve();
    this.#check('rename', to);
    const inode = this.disk.inodeOf(from);
    const apply = (names: Map<string, Inode>): void => {
      names.delete(from);
      names.set(to, inode);
    };
    this.disk.changeName({ dir: parentOf(to), apply });
  }

  async unlink(path: string): Promise<void> {
    await Promise.resolve();
    this.#check('unlink', path);
    this.disk.inodeOf(path);
    this.disk.changeName({ dir: parentOf(path), apply: (names) => names.delete(path) });
  }

  async link(from: string, to: string): Promise<void> {
    await Promise.resolve();
    this.#check('link', to);
    const inode = this.disk.inodeOf(from);
    this.disk.changeName({ dir: parentOf(to), apply: (names) => names.set(to, inode) });
  }

  async linkCount(path: string): Promise<number> {
    await Promise.resolve();
    this.#check('stat', path);
    const inode = this.disk.inodeOf(path);
    return [...this.disk.names.values()].filter((one) => one === inode).length;
  }

  async rmdir(dir: string): Promise<void> {
    await Promise.resolve();
    this.#check('rmdir', dir);
  }

  lock(): boolean {
    return true;
  }

  #inode(fd: number): Inode {
    const inode = this.#open.get(fd);
    if (inode === undefined) throw failure('EBADF', `descriptor ${fd}`);
    return inode;
  }

  /** Counts the call; throws an error fault, returns one that shortens. */
  #check(name: string, path: string, creates = false): 'short' | 'stuck' | null {
    this.calls++;
    this.log.push(name);
    const ofCheckpoint = name === 'fdatasync' && path.includes('.checkpoint');
    const fault = this.faults({ n: this.calls, name, path, creates, ofCheckpoint });
    if (fault === null) return null;
    const shortens = name === 'pread' || name === 'pwrite';
    if ((fault === 'short' || fault === 'stuck') && shortens) return fault;
    throw failure(fault === 'short' || fault === 'stuck' ? 'EIO' : fault, `call ${this.calls}, ${name}`);
  }

  #path(fd: number): string {
    return this.#paths.get(fd) ?? '';
  }

  #write(fd: number, bytes: Uint8Array, position: number): number {
    const inode = this.#inode(fd);
    let fault: 'short' | 'stuck' | null;
    try {
      fault = this.#check('pwrite', this.#path(fd));
    } catch (error) {
      // A failed write may have got through in part.
      inode.write(bytes.subarray(0, Math.floor(bytes.length / 2)), position);
      throw error;
    }
    const asked = fault === 'stuck' ? 0 : fault === 'short' ? Math.floor(bytes.length / 2) : bytes.length;
    const length = Math.min(asked, this.#roomAt(inode, position));
    if (asked > 0 && length <= 0) throw failure('ENOSPC', `the disk is full, ${this.#path(fd)}`);
    if (length > 0) inode.write(bytes.subarray(0, length), position);
    return length;
  }

  /** How much can be written there: over what the file has already, and then as far as the disk goes. */
  #roomAt(inode: Inode, position: number): number {
    if (this.capacityBytes === Infinity) return Infinity;
    return Math.max(0, inode.size - position) + Math.max(0, this.capacityBytes - this.disk.bytes);
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
