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

/** A change of a directory that is not durable yet. */
export type NameChange = { readonly dir: string; readonly apply: (names: Map<string, Inode>) => void };

/** What a fault does to the call it hits. `short`: half of it is done; `stuck`: nothing, but it says so. */
export type FaultKind = 'EIO' | 'ENOSPC' | 'EMFILE' | 'short' | 'stuck';

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
  crash(prng: Prng): void {
    const names = this.#durableNames;
    for (const change of this.#pendingNames) if (prng.oneIn(2)) change.apply(names);
    this.#pendingNames = [];
    for (const inode of new Set(names.values())) {
      const mood = prng.below(3);
      inode.reset(inode.afterCrash(() => (mood === 0 ? false : mood === 1 ? true : prng.oneIn(2))));
    }
    this.names = new Map(names);
    this.#durableNames = new Map(names);
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
  #gate: Promise<void> = Promise.resolve();
  readonly #open = new Map<number, Inode>();
  readonly #checkpoints = new Set<number>();
  #nextFd = 3;
  readonly log: string[] = [];

  constructor(disk: MemoryDisk) {
    this.disk = disk;
  }

  get openFiles(): number {
    return this.#open.size;
  }

  open(path: string, mode: OpenMode): number {
    this.#check('open', !this.disk.names.has(path) && (mode === 'create' || mode === 'ensure'));
    if (!this.disk.names.has(path)) {
      if (mode === 'read' || mode === 'write') throw failure('ENOENT', path);
      const inode = new Inode();
      this.disk.changeName({ dir: parentOf(path), apply: (names) => names.set(path, inode) });
    } else if (mode === 'create') throw failure('EEXIST', path);
    const fd = this.#nextFd++;
    this.#open.set(fd, this.disk.inodeOf(path));
    if (path.includes('.checkpoint')) this.#checkpoints.add(fd);
    return fd;
  }

  close(fd: number): void {
    this.#inode(fd);
    this.#open.delete(fd);
  }

  preadSync(fd: number, into: Uint8Array, position: number): number {
    const fault = this.#check('pread');
    const inode = this.#inode(fd);
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
    return this.#write(this.#inode(fd), bytes, position);
  }

  async pwrite(fd: number, bytes: Uint8Array, position: number): Promise<number> {
    await Promise.resolve();
    return this.pwriteSync(fd, bytes, position);
  }

  writevSync(fd: number, chunks: readonly Uint8Array[], position: number): number {
    return this.#write(this.#inode(fd), Buffer.concat(chunks), position);
  }

  fdatasyncSync(fd: number): void {
    const inode = this.#inode(fd);
    try {
      this.#check('fdatasync', false, this.#checkpoints.has(fd));
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
    this.#check('truncate');
    this.#inode(fd).truncate(bytes);
  }

  fileBytes(fd: number): number {
    this.#check('stat');
    return this.#inode(fd).size;
  }

  async mkdir(): Promise<void> {
    await Promise.resolve();
    this.#check('mkdir');
  }

  async fsyncDir(dir: string): Promise<void> {
    await Promise.resolve();
    this.#check('fsyncDir');
    this.disk.syncNames(dir);
  }

  async readdir(dir: string): Promise<string[]> {
    await Promise.resolve();
    this.#check('readdir');
    return this.disk
      .files()
      .filter((path) => parentOf(path) === dir)
      .map((path) => path.slice(dir.length + 1));
  }

  async rename(from: string, to: string): Promise<void> {
    await Promise.resolve();
    this.#check('rename');
    const inode = this.disk.inodeOf(from);
    const apply = (names: Map<string, Inode>): void => {
      names.delete(from);
      names.set(to, inode);
    };
    this.disk.changeName({ dir: parentOf(to), apply });
  }

  async unlink(path: string): Promise<void> {
    await Promise.resolve();
    this.#check('unlink');
    this.disk.inodeOf(path);
    this.disk.changeName({ dir: parentOf(path), apply: (names) => names.delete(path) });
  }

  async link(from: string, to: string): Promise<void> {
    await Promise.resolve();
    this.#check('link');
    const inode = this.disk.inodeOf(from);
    this.disk.changeName({ dir: parentOf(to), apply: (names) => names.set(to, inode) });
  }

  async linkCount(path: string): Promise<number> {
    await Promise.resolve();
    this.#check('stat');
    const inode = this.disk.inodeOf(path);
    return [...this.disk.names.values()].filter((one) => one === inode).length;
  }

  async rmdir(): Promise<void> {
    await Promise.resolve();
    this.#check('rmdir');
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
  #check(name: string, creates = false, ofCheckpoint = false): 'short' | 'stuck' | null {
    this.calls++;
    this.log.push(name);
    const fault = this.faults({ n: this.calls, name, creates, ofCheckpoint });
    if (fault === null) return null;
    const shortens = name === 'pread' || name === 'pwrite';
    if ((fault === 'short' || fault === 'stuck') && shortens) return fault;
    throw failure(fault === 'short' || fault === 'stuck' ? 'EIO' : fault, `call ${this.calls}, ${name}`);
  }

  #write(inode: Inode, bytes: Uint8Array, position: number): number {
    let fault: 'short' | 'stuck' | null;
    try {
      fault = this.#check('pwrite');
    } catch (error) {
      // A failed write may have got through in part.
      inode.write(bytes.subarray(0, Math.floor(bytes.length / 2)), position);
      throw error;
    }
    const length = fault === 'stuck' ? 0 : fault === 'short' ? Math.floor(bytes.length / 2) : bytes.length;
    if (length > 0) inode.write(bytes.subarray(0, length), position);
    return length;
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
