// A file of lines that grows and survives a kill: a line is there, whole, once `append` has returned; what a kill left of one that was being
// written is taken off when the file is opened again. One process at a time, by an OS lock. Must not know what the lines mean.
import { dirname } from 'node:path';
import { nodeFileIo as io, writeFullySync } from '../wal/local/file-io.ts';
import { UsageError } from './exit.ts';

const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 10;

export class LineFile {
  readonly path: string;
  private readonly fd: number;
  /** Where the next line goes: everything before is whole lines, on disk. */
  private end: number;

  private constructor(path: string, fd: number, end: number) {
    this.path = path;
    this.fd = fd;
    this.end = end;
  }

  /** Makes it when it does not exist. `purpose` is for the refusal when another process has it. */
  static async open(path: string, purpose: string): Promise<LineFile> {
    const fd = io.open(path, 'ensure');
    try {
      if (!io.lock(fd)) throw new UsageError(`${path}: ${purpose} is under way already, in another process`);
      await io.fsyncDir(dirname(path));
      const bytes = io.fileBytes(fd);
      const end = lastLineEnd(fd, bytes);
      if (end < bytes) await io.truncate(fd, end);
      await io.fdatasync(fd);
      return new LineFile(path, fd, end);
    } catch (error) {
      io.close(fd);
      throw error;
    }
  }

  get isEmpty(): boolean {
    return this.end === 0;
  }

  /** Writes a line and syncs it. */
  async append(line: string): Promise<void> {
    const bytes = Buffer.from(`${line}\n`);
    writeFullySync({ io, fd: this.fd }, [bytes], this.end);
    await io.fdatasync(this.fd);
    this.end += bytes.length;
  }

  /** Takes the last line off again, durably. */
  async undo(): Promise<void> {
    const before = lastLineEnd(this.fd, Math.max(0, this.end - 1));
    await io.truncate(this.fd, before);
    await io.fdatasync(this.fd);
    this.end = before;
  }

  first(): string {
    const bytes = Buffer.alloc(Math.min(this.end, CHUNK_BYTES));
    io.preadSync(this.fd, bytes, 0);
    const at = bytes.indexOf(LINE_FEED);
    return bytes.toString('utf8', 0, Math.max(at, 0));
  }

  last(): string {
    const from = lastLineEnd(this.fd, Math.max(0, this.end - 1));
    return this.read(from, Math.max(0, this.end - 1));
  }

  private read(from: number, to: number): string {
    const bytes = Buffer.alloc(to - from);
    for (let at = 0; at < bytes.length;) {
      const count = io.preadSync(this.fd, bytes.subarray(at), from + at);
      if (count === 0) break;
      at += count;
    }
    return bytes.toString('utf8');
  }

  close(): void {
    io.close(this.fd);
  }
}

/** The position behind the last line feed before `to`; 0: there is none. */
function lastLineEnd(fd: number, to: number): number {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let end = to; end > 0;) {
    const from = Math.max(0, end - CHUNK_BYTES);
    const count = io.preadSync(fd, chunk.subarray(0, end - from), from);
    const at = chunk.subarray(0, count).lastIndexOf(LINE_FEED);
    if (at >= 0) return from + at + 1;
    end = from;
  }
  return 0;
}
