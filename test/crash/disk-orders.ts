// A disk that does as a test orders: the real one, with a named point at which the process is killed, calls that fail, or syncs that do
// nothing. A point is `before`, `amid` or `after` a call on a kind of file, such as `after rename marker`. Orders stand in the environment
// of the daemon (faulty-daemon.ts) and count from its start or from a signal. It must not know what the files mean.
import { basename } from 'node:path';
import { type FileIo, nodeFileIo, type OpenMode } from '../../src/wal/local/file-io.ts';

export const ORDERS_VARIABLE = 'TMQUEUE_TEST_DISK';
/** Orders with `onSignal` count from it. */
export const ORDERS_SIGNAL = 'SIGUSR2';

export interface DiskOrders {
  readonly segmentBytes?: number;
  readonly onSignal?: boolean;
  /** Killed the nth time that it comes to this point. */
  readonly kill?: { readonly point: string; readonly nth: number };
  /** Calls such as `pwrite segment` that fail from then on, all of them, with this code. */
  readonly fail?: { readonly calls: readonly string[]; readonly code: string };
  /** A sync says that it is done and does nothing: the negative control of power cuts. */
  readonly lyingSync?: boolean;
}

const MOMENTS = ['before', 'after'] as const;
const CALLS = [
  'open new segment',
  'pwrite new segment',
  'fdatasync new segment',
  'rename new segment',
  'pwrite segment',
  'fdatasync segment',
  'fsyncDir folder',
  'rename marker',
  'rename segment',
  'unlink segment',
  'open new checkpoint',
  'pwrite new checkpoint',
  'truncate new checkpoint',
  'fdatasync new checkpoint',
  'rename new checkpoint',
  'unlink checkpoint',
];
/** Where a daemon may be killed. Amid a write half of it is in the file. */
export const KILL_POINTS: readonly string[] = [
  ...CALLS.flatMap((call) => MOMENTS.map((moment) => `${moment} ${call}`)),
  'amid pwrite segment',
  'amid pwrite new checkpoint',
];

type Moment = (typeof MOMENTS)[number] | 'amid';

export class OrderedDisk implements FileIo {
  private readonly orders: DiskOrders;
  private readonly paths = new Map<number, string>();
  private isArmed: boolean;
  private left: number;

  constructor(orders: DiskOrders) {
    this.orders = orders;
    this.isArmed = orders.onSignal !== true;
    this.left = orders.kill?.nth ?? 0;
    process.on(ORDERS_SIGNAL, () => {
      this.isArmed = true;
    });
  }

  open(path: string, mode: OpenMode, reserve?: 'reserve'): number {
    const fd = this.calling('open', path, () => nodeFileIo.open(path, mode, reserve));
    this.paths.set(fd, path);
    return fd;
  }

  close(fd: number): void {
    this.paths.delete(fd);
    nodeFileIo.close(fd);
  }

  preadSync(fd: number, into: Uint8Array, position: number): number {
    return this.calling('pread', this.path(fd), () => nodeFileIo.preadSync(fd, into, position));
  }

  pread(fd: number, into: Uint8Array, position: number): Promise<number> {
    return this.awaiting('pread', this.path(fd), () => nodeFileIo.pread(fd, into, position));
  }

  pwriteSync(fd: number, bytes: Uint8Array, position: number): number {
    this.halfOf(fd, [bytes], position);
    return this.calling('pwrite', this.path(fd), () => nodeFileIo.pwriteSync(fd, bytes, position));
  }

  pwrite(fd: number, bytes: Uint8Array, position: number): Promise<number> {
    this.halfOf(fd, [bytes], position);
    return this.awaiting('pwrite', this.path(fd), () => nodeFileIo.pwrite(fd, bytes, position));
  }

  writevSync(fd: number, chunks: readonly Uint8Array[], position: number): number {
    this.halfOf(fd, chunks, position);
    return this.calling('pwrite', this.path(fd), () => nodeFileIo.writevSync(fd, chunks, position));
  }

  fdatasyncSync(fd: number): void {
    this.calling('fdatasync', this.path(fd), () => {
      if (this.orders.lyingSync !== true) nodeFileIo.fdatasyncSync(fd);
    });
  }

  fdatasync(fd: number): Promise<void> {
    const lies = this.orders.lyingSync === true;
    const sync = (): Promise<void> => (lies ? Promise.resolve() : nodeFileIo.fdatasync(fd));
    return this.awaiting('fdatasync', this.path(fd), sync);
  }

  truncate(fd: number, bytes: number): Promise<void> {
    return this.awaiting('truncate', this.path(fd), () => nodeFileIo.truncate(fd, bytes));
  }

  fileBytes(fd: number): number {
    return this.calling('stat', this.path(fd), () => nodeFileIo.fileBytes(fd));
  }

  link(from: string, to: string): Promise<void> {
    return this.awaiting('link', to, () => nodeFileIo.link(from, to));
  }

  linkCount(path: string): Promise<number> {
    return this.awaiting('stat', path, () => nodeFileIo.linkCount(path));
  }

  rmdir(dir: string): Promise<void> {
    return this.awaiting('rmdir', dir, () => nodeFileIo.rmdir(dir));
  }

  mkdir(dir: string): Promise<void> {
    return this.awaiting('mkdir', dir, () => nodeFileIo.mkdir(dir));
  }

  fsyncDir(dir: string): Promise<void> {
    return this.awaiting('fsyncDir', dir, () => nodeFileIo.fsyncDir(dir));
  }

  readdir(dir: string): Promise<string[]> {
    return this.awaiting('readdir', dir, () => nodeFileIo.readdir(dir));
  }

  rename(from: string, to: string): Promise<void> {
    return this.awaiting('rename', from, () => nodeFileIo.rename(from, to));
  }

  unlink(path: string): Promise<void> {
    return this.awaiting('unlink', path, () => nodeFileIo.unlink(path));
  }

  lock(fd: number): boolean {
    return nodeFileIo.lock(fd);
  }

  private calling<T>(call: string, path: string, run: () => T): T {
    const name = `${call} ${kindOf(path)}`;
    this.failAsOrdered(name);
    this.at('before', name);
    const result = run();
    this.at('after', name);
    return result;
  }

  private async awaiting<T>(call: string, path: string, run: () => Promise<T>): Promise<T> {
    const name = `${call} ${kindOf(path)}`;
    this.failAsOrdered(name);
    this.at('before', name);
    const result = await run();
    this.at('after', name);
    return result;
  }

  private at(moment: Moment, name: string): void {
    if (this.isDue(moment, name)) process.kill(process.pid, 'SIGKILL');
  }

  private isDue(moment: Moment, name: string): boolean {
    if (!this.isArmed || this.orders.kill?.point !== `${moment} ${name}`) return false;
    this.left--;
    return this.left === 0;
  }

  private halfOf(fd: number, chunks: readonly Uint8Array[], position: number): void {
    if (!this.isDue('amid', `pwrite ${kindOf(this.path(fd))}`)) return;
    const bytes = Buffer.concat(chunks);
    nodeFileIo.pwriteSync(fd, bytes.subarray(0, Math.ceil(bytes.length / 2)), position);
    process.kill(process.pid, 'SIGKILL');
  }

  private failAsOrdered(name: string): void {
    const { fail } = this.orders;
    if (!this.isArmed || fail?.calls.includes(name) !== true) return;
    throw Object.assign(new Error(`${fail.code}: ordered by the test, ${name}`), { code: fail.code });
  }

  private path(fd: number): string {
    return this.paths.get(fd) ?? '';
  }
}

function kindOf(path: string): string {
  const ending = /\.(log|first|checkpoint)(\.tmp)?$/.exec(basename(path));
  if (ending === null) return basename(path) === 'LOCK' ? 'lock' : 'folder';
  const kind = { log: 'segment', first: 'marker', checkpoint: 'checkpoint' }[ending[1] ?? ''] ?? '';
  return ending[2] === undefined ? kind : `new ${kind}`;
}
