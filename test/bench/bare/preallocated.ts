// A file as the log's segments are: zero-filled ahead of need, so that a sync writes data and no sizes. Positions wrap at its end, as
// recycled segments do.
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs';

const FILE_BYTES = 64 * 1024 * 1024;
const FILL_BYTES = 1024 * 1024;

export class PreallocatedFile {
  private readonly fd: number;
  private position = 0;

  constructor(path: string) {
    this.fd = openSync(path, 'wx+');
    const zeros = Buffer.alloc(FILL_BYTES);
    for (let at = 0; at < FILE_BYTES; at += FILL_BYTES) writeSync(this.fd, zeros, 0, FILL_BYTES, at);
    fsyncSync(this.fd);
  }

  /** Writes the bytes behind the previous ones and returns when they are durable. */
  append(bytes: Buffer, length: number): void {
    this.write(bytes, length);
    this.sync();
  }

  write(bytes: Buffer, length: number): void {
    if (this.position + length > FILE_BYTES) this.position = 0;
    writeSync(this.fd, bytes, 0, length, this.position);
    this.position += length;
  }

  sync(): void {
    fdatasyncSync(this.fd);
  }

  close(): void {
    closeSync(this.fd);
  }
}
