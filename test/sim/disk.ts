// The simulated disk, and the FileIo port of one process on it. Calls of the thread pool take their time and end in any order; a sync makes
// durable what was written before it began. A kill leaves the page cache as it is; when the power goes every unsynced write is kept, dropped
// or torn by sector, every unsynced name kept or dropped. Errors, short transfers, a full disk and the end of the process in the middle of a
// call come from the DiskTroubles. It must not know what the files mean.
import type { Prng } from '../../src/base/prng.ts';
import type { FileIo, OpenMode } from '../../src/wal/local/file-io.ts';
import { failure, Inode, MemoryDisk } from '../fault/faulty-file-io.ts';
import { Trace } from './trace.ts';
import type { Life, World } from './world.ts';

export class SimDisk extends MemoryDisk {
  readonly directories = new Set<string>(['/', '/app']);
  /** Bytes that files may occupy. */
  capacityBytes = Infinity;
  /** Locks end with the process that holds them. */
  readonly locked = new Map<Inode, Life>();

  get usedBytes(): number {
    let sum = 0;
    for (const inode of new Set(this.names.values())) sum += inode.size;
    return sum;
  }
}

/** What goes wrong in one life of the daemon: which call, counted from its start. */
export interface DiskTroubles {
  /** The process ends in the middle of this call. */
  endAtCall: number;
  /** This call says EIO. */
  errorAtCall: number;
  /** One transfer in so many is short; 0: none. */
  shortOneIn: number;
  /** Milliseconds that a sync takes at most. */
  syncMsMax: number;
}

export function noTroubles(): DiskTroubles {
  return { endAtCall: 0, errorAtCall: 0, shortOneIn: 0, syncMsMax: 2 };
}

/** How a disk can deceive: each must be found out by the ledger. */
export type Deceit = 'none' | 'sync does nothing' | 'sync comes later';

export interface SimFileIoPorts {
  readonly world: World;
  readonly life: Life;
  readonly prng: Prng;
  readonly troubles: DiskTroubles;
  readonly deceit: Deceit;
  /** Told when `endAtCall` was reached; ends the life. */
  readonly onFatalCall: () => void;
}

/** How late a deceitful sync is, in milliseconds. */
const LATE_MS = 50;

interface Open {
  readonly path: string;
  readonly inode: Inode;
}

export class SimFileIo implements FileIo {
  private readonly disk: SimDisk;
  private readonly ports: SimFileIoPorts;
  private readonly files = new Map<number, Open>();
  private nextFd = 3;
  private calls = 0;

  constructor(disk: SimDisk, ports: SimFileIoPorts) {
    this.disk = disk;
    this.ports = ports;
  }

  open(path: string, mode: OpenMode): number {
    this.call('open', path);
    const known = this.disk.names.get(path);
    if (known === undefined && (mode === 'read' || mode === 'write')) throw failure('ENOENT', path);
    if (known !== undefined && mode === 'create') throw failure('EEXIST', path);
    const fd = this.nextFd++;
    this.files.set(fd, { path, inode: known ?? this.make(path) });
    return fd;
  }

  close(fd: number): void {
    const { inode } = this.file(fd);
    if (this.disk.locked.get(inode) === this.ports.life) this.disk.locked.delete(inode);
    this.files.delete(fd);
  }

  preadSync(fd: number, into: Uint8Array, position: number): number {
    return this.read(this.file(fd), into, position);
  }

  pread(fd: number, into: Uint8Array, position: number): Promise<number> {
    const file = this.file(fd);
    return this.later(0.5, () => this.read(file, into, position));
  }

  pwriteSync(fd: number, bytes: Uint8Array, position: number): number {
    return this.write(this.file(fd), bytes, position);
  }

  pwrite(fd: number, bytes: Uint8Array, position: number): Promise<number> {
    const file = this.file(fd);
    return this.later(0.5, () => this.write(file, bytes, position));
  }

  writevSync(fd: number, chunks: readonly Uint8Array[], position: number): number {
    return this.write(this.file(fd), Buffer.concat(chunks), position);
  }

  fdatasyncSync(fd: number): void {
    const file = this.file(fd);
    this.ports.world.spend(this.syncMs());
    this.sync(file, file.inode.pending.at(-1));
  }

  fdatasync(fd: number): Promise<void> {
    const file = this.file(fd);
    const last = file.inode.pending.at(-1);
    return this.later(this.ports.troubles.syncMsMax, () => this.sync(file, last));
  }

  truncate(fd: number, bytes: number): Promise<void> {
    const { path, inode } = this.file(fd);
    return this.later(0.2, () => {
      this.call('truncate', path);
      if (this.alive) inode.truncate(bytes);
    });
  }

  fileBytes(fd: number): number {
    return this.file(fd).inode.size;
  }

  mkdir(dir: string): Promise<void> {
    return this.later(0.2, () => {
      this.call('mkdir', dir);
      if (this.alive) this.disk.directories.add(dir);
    });
  }

  fsyncDir(dir: string): Promise<void> {
    return this.later(this.ports.troubles.syncMsMax, () => {
      this.call('fsyncDir', dir);
      if (this.alive && this.ports.deceit !== 'sync does nothing') this.disk.syncNames(dir);
    });
  }

  readdir(dir: string): Promise<string[]> {
    return this.later(0.2, () => {
      this.call('readdir', dir);
      const { directories } = this.disk;
      if (!directories.has(dir)) throw failure('ENOENT', dir);
      const paths = [...this.disk.files(), ...directories].filter((path) => parentOf(path) === dir);
      return paths.map((path) => path.slice(path.lastIndexOf('/') + 1));
    });
  }

  rename(from: string, to: string): Promise<void> {
    return this.later(0.2, () => {
      this.call('rename', to);
      const inode = this.disk.inodeOf(from);
      this.change(to, (names) => {
        names.delete(from);
        names.set(to, inode);
      });
    });
  }

  unlink(path: string): Promise<void> {
    return this.later(0.2, () => {
      this.call('unlink', path);
      this.disk.inodeOf(path);
      this.change(path, (names) => names.delete(path));
    });
  }

  link(from: string, to: string): Promise<void> {
    return this.later(0.2, () => {
      this.call('link', to);
      const inode = this.disk.inodeOf(from);
      this.change(to, (names) => names.set(to, inode));
    });
  }

  linkCount(path: string): Promise<number> {
    return this.later(0.2, () => {
      this.call('stat', path);
      const inode = this.disk.inodeOf(path);
      return [...this.disk.names.values()].filter((one) => one === inode).length;
    });
  }

  rmdir(dir: string): Promise<void> {
    return this.later(0.2, () => {
      this.call('rmdir', dir);
      if (this.alive) this.disk.directories.delete(dir);
    });
  }

  lock(fd: number): boolean {
    const { inode } = this.file(fd);
    const { locked } = this.disk;
    const holder = locked.get(inode);
    if (holder !== undefined && !holder.ended) return false;
    locked.set(inode, this.ports.life);
    return true;
  }

  private get alive(): boolean {
    return !this.ports.life.ended;
  }

  private file(fd: number): Open {
    const file = this.files.get(fd);
    if (file === undefined) throw failure('EBADF', `descriptor ${fd}`);
    return file;
  }

  private make(path: string): Inode {
    const inode = new Inode();
    this.change(path, (names) => names.set(path, inode));
    return inode;
  }

  private change(path: string, apply: (names: Map<string, Inode>) => void): void {
    if (this.alive) this.disk.changeName({ dir: parentOf(path), apply });
  }

  private read({ path, inode }: Open, into: Uint8Array, position: number): number {
    this.call('pread', path);
    const most = Math.max(0, Math.min(into.length, inode.size - position));
    const length = this.shortened(most);
    into.set(inode.bytes.subarray(position, position + length));
    this.note(`pread ${path} ${position} ${length}`);
    return length;
  }

  private write({ path, inode }: Open, bytes: Uint8Array, position: number): number {
    const length = this.shortened(bytes.length);
    const wasAlive = this.alive;
    const grows = position + length - inode.size;
    if (grows > 0 && this.disk.usedBytes + grows > this.disk.capacityBytes) throw failure('ENOSPC', path);
    try {
      this.call('pwrite', path);
    } catch (error) {
      // A failed write may have got through in part.
      inode.write(bytes.subarray(0, this.ports.prng.below(bytes.length + 1)), position);
      throw error;
    }
    this.note(`pwrite ${path} ${position} ${length} ${Trace.sum(bytes)}`);
    // A process that ends in the middle of a write has written some of it.
    if (wasAlive && !this.alive) inode.write(bytes.subarray(0, this.ports.prng.below(length + 1)), position);
    if (!this.alive) return length;
    inode.write(length === bytes.length ? bytes : bytes.subarray(0, length), position);
    return length;
  }

  private sync({ path, inode }: Open, last: Inode['pending'][number] | undefined): void {
    try {
      this.call('fdatasync', path);
    } catch (error) {
      // After a failed sync the pages are clean, but not on the disk.
      inode.pending = [];
      throw error;
    }
    this.note(`fdatasync ${path}`);
    const { deceit, world } = this.ports;
    if (deceit === 'none' && this.alive) inode.syncThrough(last);
    if (deceit === 'sync comes later') world.after(LATE_MS, () => inode.syncThrough(last), this.ports.life);
  }

  /** Counts the call; here the process ends, or the call fails. */
  private call(name: string, path: string): void {
    if (!this.alive) return;
    const { troubles } = this.ports;
    this.calls++;
    if (this.calls === troubles.endAtCall) {
      this.note(`the process ends in ${name} ${path}`);
      this.ports.onFatalCall();
    } else if (this.calls === troubles.errorAtCall) {
      this.note(`EIO ${name} ${path}`);
      throw failure('EIO', `${name} ${path}`);
    }
  }

  private shortened(length: number): number {
    const { troubles, prng } = this.ports;
    if (length < 2 || troubles.shortOneIn === 0 || !prng.oneIn(troubles.shortOneIn)) return length;
    return prng.between(1, length - 1);
  }

  private syncMs(): number {
    const { prng, troubles } = this.ports;
    return (prng.below(1024) / 1024) * troubles.syncMsMax;
  }

  private note(what: string): void {
    const { world, life } = this.ports;
    if (this.alive) world.trace.add(`${world.nowMs.toFixed(3)} ${life.name} ${what}`);
  }

  /** A call of the thread pool: done within so many milliseconds. */
  private later<T>(msMax: number, run: () => T): Promise<T> {
    const { world, life, prng } = this.ports;
    return new Promise((resolve, reject) => {
      const perform = (): void => {
        try {
          resolve(run());
        } catch (error) {
          reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      world.after((prng.below(1024) / 1024) * msMax, perform, life);
    });
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
