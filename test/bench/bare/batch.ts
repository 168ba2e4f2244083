// The open batch of the bare pipeline: records behind a head with their CRC, written and synced as one; what does not fit into the buffer is
// written before, and synced with the rest.
import { crc32 } from 'node:zlib';
import type { PreallocatedFile } from './preallocated.ts';

const HEAD_BYTES = 16;
const RECORD_HEAD_BYTES = 12;
const BATCH_BYTES = 8 * 1024 * 1024;

export class Batch {
  syncs = 0;
  private readonly file: PreallocatedFile;
  private readonly bytes = Buffer.allocUnsafeSlow(BATCH_BYTES);
  private used = HEAD_BYTES;

  constructor(file: PreallocatedFile) {
    this.file = file;
  }

  /** Copies the data, which lie in `source` from `from` to `to`. */
  add(head: { id: number; queue: number }, source: Buffer, range: { from: number; to: number }): void {
    const length = range.to - range.from;
    if (this.used + RECORD_HEAD_BYTES + length > BATCH_BYTES) this.write();
    const { bytes, used } = this;
    bytes.writeUInt32LE(length, used);
    bytes.writeUInt32LE(head.id, used + 4);
    bytes.writeUInt32LE(head.queue, used + 8);
    source.copy(bytes, used + RECORD_HEAD_BYTES, range.from, range.to);
    this.used += RECORD_HEAD_BYTES + length;
  }

  /** Returns when everything added is durable. */
  commit(): void {
    this.write();
    this.file.sync();
    this.syncs++;
  }

  private write(): void {
    const { bytes, used } = this;
    bytes.writeUInt32LE(this.syncs, 4);
    bytes.writeUInt32LE(used, 8);
    bytes.writeUInt32LE(crc32(bytes.subarray(4, used)), 0);
    this.file.write(bytes, used);
    this.used = HEAD_BYTES;
  }
}
