// Where log lines go: a file, which can be opened again after it was renamed, or standard error, whatever that is. Invariant: a reader that does not
// read, a full disk or a closed pipe costs lines, which are counted, and never holds up or ends the process.
import { closeSync, constants, fstatSync, openSync, statSync, writeSync } from 'node:fs';

export interface LogOutput {
  /** Takes one line; it may be lost. */
  write(line: string): void;
  /** Lines lost since this was asked last; 0 while there is no way to say so. */
  takeLost(): number;
  /** Opens the file again; null: there is none. Throws a sentence when that cannot be, and goes on with the old one. */
  reopen(): string | null;
  /** Resolves when everything has been read, or after so many milliseconds. */
  flush(withinMs: number): Promise<void>;
}

/** What may wait for a reader of standard error, in bytes. */
const WAITING_BYTES_MAX = 1024 * 1024;
const STDERR = 2;
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
const MODE = 0o640;

/** Standard error. Files are written to at once: the last words of a process that ends must not be lost. */
export function standardError(): LogOutput {
  return fstatSync(STDERR).isFile() ? new FileOutput('', STDERR) : new StreamOutput(process.stderr);
}

/** Opens a log file, made when it does not exist. Throws a sentence when it cannot be had. */
export function logFile(path: string): LogOutput {
  return new FileOutput(path, openLog(path));
}

function openLog(path: string): number {
  try {
    // Opening a pipe waits for its reader.
    if (statSync(path, { throwIfNoEntry: false })?.isFIFO() === true) throw new Error('it is a pipe');
    return openSync(path, FLAGS, MODE);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`the log file ${path} cannot be opened: ${reason}`, { cause: error });
  }
}

class FileOutput implements LogOutput {
  /** '': standard error. */
  private readonly path: string;
  private fd: number;
  private lost = 0;
  private isWell = true;

  constructor(path: string, fd: number) {
    this.path = path;
    this.fd = fd;
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(this.fd, bytes, at);
      this.isWell = true;
    } catch {
      this.lost++;
      this.isWell = false;
    }
  }

  takeLost(): number {
    if (!this.isWell) return 0;
    const { lost } = this;
    this.lost = 0;
    return lost;
  }

  reopen(): string | null {
    if (this.path === '') return null;
    const fd = openLog(this.path);
    closeSync(this.fd);
    this.fd = fd;
    return this.path;
  }

  async flush(): Promise<void> {}
}

export class StreamOutput implements LogOutput {
  private readonly stream: NodeJS.WriteStream;
  private lost = 0;

  constructor(stream: NodeJS.WriteStream) {
    this.stream = stream;
    unblock(stream);
    // Whoever read it has gone: the daemon goes on without a log.
    stream.on('error', () => {});
  }

  write(line: string): void {
    const { stream } = this;
    if (stream.destroyed || stream.writableLength > WAITING_BYTES_MAX) this.lost++;
    else stream.write(line);
  }

  takeLost(): number {
    const { lost, stream } = this;
    if (stream.destroyed || stream.writableLength > WAITING_BYTES_MAX / 2) return 0;
    this.lost = 0;
    return lost;
  }

  reopen(): null {
    return null;
  }

  flush(withinMs: number): Promise<void> {
    return flushed(this.stream, withinMs);
  }
}

/** Resolves when all that was written has gone, or after so many milliseconds. */
export function flushed(stream: NodeJS.WriteStream, withinMs: number): Promise<void> {
  if (stream.destroyed || stream.writableLength === 0) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, withinMs);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    stream.once('close', done);
    stream.write('', done);
  });
}

/** Node waits for a terminal: one that was stopped (Ctrl-S) would stop the daemon. */
export function unblock(stream: NodeJS.WriteStream): void {
  if (!stream.isTTY) return;
  const { _handle: handle } = stream as { _handle?: { setBlocking?: (blocks: boolean) => void } };
  handle?.setBlocking?.(false);
}
