// Checkpoints as files of a log's directory: written beside under a temporary name, synced in steps, renamed when the log is durable through
// their end. Invariants: a file under its final name is complete, or damaged and found out by its hash; the newest two are kept, and an older
// one goes only when its successor is in place. It must not know what a checkpoint holds.

import { crc32 } from 'node:zlib';
import { LogError } from '../log-store.ts';
import type { Epoch, Pos, SnapshotInfo, SnapshotStore, SnapshotWriter } from '../log-store.ts';
import { errorText, readFully, writeFully } from './file-io.ts';
import type { FileIo } from './file-io.ts';
import { asLogError } from './recovery.ts';
import type { LogIdentity } from './scan.ts';
import { TEMPORARY_SUFFIX } from './segment.ts';

const NAME = /^([0-9a-f]{14})\.checkpoint$/;
const NAME_DIGITS = 14;
const MAGIC = 0x504b_4354; // "TCKP"
const SNAPSHOT_VERSION = 1;
/** magic, version, space id, log key low, high; from, to, epoch, payload bytes as doubles; crc of payload, crc of what stands before it. */
const FOOTER_BYTES = 20 + 32 + 8;
/** Written and synced in such steps, so that commits beside it are not held up by one long flush [PERFORMANCE 11]. */
const SYNC_BYTES = 4 * 1024 * 1024;
const READ_BYTES = 1024 * 1024;
const KEPT = 2;

interface Footer extends SnapshotInfo {
  readonly crc: number;
}

/** What is asked of the log that they belong to. */
export interface SnapshotLog {
  readonly identity: () => LogIdentity | null;
  readonly durablePos: () => Pos;
  /** Of the writer that has the log now. */
  readonly epoch: () => Epoch;
}

export class LocalSnapshots implements SnapshotStore {
  private readonly io: FileIo;
  private readonly dir: string;
  private readonly identity: () => LogIdentity | null;
  private readonly durablePos: () => Pos;
  private readonly epoch: () => Epoch;

  constructor(files: { readonly io: FileIo; readonly dir: string }, log: SnapshotLog) {
    this.io = files.io;
    this.dir = files.dir;
    this.identity = log.identity;
    this.durablePos = log.durablePos;
    this.epoch = log.epoch;
  }

  begin(from: Pos, epoch: Epoch): Promise<SnapshotWriter> {
    const path = `${this.dir}/${from.toString(16).padStart(NAME_DIGITS, '0')}.checkpoint${TEMPORARY_SUFFIX}`;
    const file = new TemporaryFile(this.io, path);
    const commit = async (to: Pos): Promise<SnapshotInfo> => {
      // What a fenced writer has in memory need not be what the log says.
      if (epoch !== this.epoch()) throw new LogError('Fenced', 'a checkpoint of a writer that lost the log');
      if (to > this.durablePos()) throw new LogError('Unavailable', `a checkpoint to ${to}: not durable yet`);
      const { bytes, crc } = file;
      await file.finish(this.footer({ from, to, epoch, bytes, crc }));
      const name = `${to.toString(16).padStart(NAME_DIGITS, '0')}.checkpoint`;
      await this.io.rename(path, `${this.dir}/${name}`);
      await this.io.fsyncDir(this.dir);
      await this.removeOld();
      return { id: name, from, to, bytes };
    };
    return Promise.resolve({ write: (chunk) => file.write(chunk), commit, abort: () => file.remove() });
  }

  async list(): Promise<SnapshotInfo[]> {
    const names = (await this.names()).filter((name) => NAME.test(name)).sort();
    const infos: SnapshotInfo[] = [];
    for (const name of names.toReversed()) infos.push(await this.infoOf(name));
    return infos;
  }

  async *read(id: string): AsyncGenerator<Uint8Array, void> {
    const footer = await this.readFooter(id);
    const fd = this.open(id);
    // The next chunk is read while this one is used.
    let [buffer, other] = [Buffer.allocUnsafeSlow(READ_BYTES), Buffer.allocUnsafeSlow(READ_BYTES)];
    const begin = (at: number): Promise<number> => {
      const reading = readFully({ io: this.io, fd }, chunkOf(buffer, footer.bytes - at), at);
      // Whoever does not come for it has met another error before.
      reading.catch(() => {});
      return reading;
    };
    let next = begin(0);
    try {
      let crc = 0;
      for (let at = 0; at < footer.bytes; at += READ_BYTES) {
        const chunk = chunkOf(buffer, footer.bytes - at);
        const read = await next;
        if (read < chunk.length) throw this.damage(id, at + read, 'it ends early');
        [buffer, other] = [other, buffer];
        if (at + READ_BYTES < footer.bytes) next = begin(at + READ_BYTES);
        crc = crc32(chunk, crc);
        yield chunk;
      }
      if (crc !== footer.crc) throw this.damage(id, 0, 'its checksum does not fit');
    } finally {
      await next.catch(() => {});
      this.io.close(fd);
    }
  }

  async remove(id: string): Promise<void> {
    await this.io.unlink(`${this.dir}/${id}`);
    await this.io.fsyncDir(this.dir);
  }

  private async names(): Promise<string[]> {
    try {
      return await this.io.readdir(this.dir);
    } catch (error) {
      throw asLogError(error, `${this.dir}: looking for checkpoints`);
    }
  }

  /** One whose end cannot be read is listed too, so that it is said what is wrong with it. */
  private async infoOf(name: string): Promise<SnapshotInfo> {
    try {
      const { from, to, bytes } = await this.readFooter(name);
      return { id: name, from, to, bytes };
    } catch (error) {
      const to = Number.parseInt(name, 16);
      return { id: name, from: Infinity, to, bytes: 0, unreadable: errorText(error) };
    }
  }

  private async removeOld(): Promise<void> {
    const names = (await this.names()).filter((name) => NAME.test(name)).sort();
    for (const name of names.slice(0, -KEPT)) await this.io.unlink(`${this.dir}/${name}`);
  }

  private footer({ from, to, epoch, bytes, crc }: Omit<Footer, 'id'> & { epoch: Epoch }): Buffer {
    const footer = Buffer.alloc(FOOTER_BYTES);
    const identity = this.identity();
    footer.writeUInt32LE(MAGIC, 0);
    footer.writeUInt32LE(SNAPSHOT_VERSION, 4);
    footer.writeUInt32LE(identity?.spaceId ?? 0, 8);
    footer.writeUInt32LE(identity?.keyLow ?? 0, 12);
    footer.writeUInt32LE(identity?.keyHigh ?? 0, 16);
    [from, to, epoch, bytes].forEach((value, i) => footer.writeDoubleLE(value, 20 + 8 * i));
    footer.writeUInt32LE(crc, 52);
    footer.writeUInt32LE(crc32(footer.subarray(0, 56)), 56);
    return footer;
  }

  private async readFooter(name: string): Promise<Footer> {
    const fd = this.open(name);
    try {
      const footer = Buffer.alloc(FOOTER_BYTES);
      const size = this.io.fileBytes(fd);
      if (size < FOOTER_BYTES) throw this.damage(name, 0, 'it is too short');
      await readFully({ io: this.io, fd }, footer, size - FOOTER_BYTES);
      if (footer.readUInt32LE(0) !== MAGIC || footer.readUInt32LE(56) !== crc32(footer.subarray(0, 56)))
        throw this.damage(name, size - FOOTER_BYTES, 'it has no footer');
      const version = footer.readUInt32LE(4);
      if (version > SNAPSHOT_VERSION) {
        throw new LogError(
          'Corrupt',
          `${this.dir}/${name}: checkpoint version ${version}, this program reads up to ${SNAPSHOT_VERSION}`,
        );
      }
      this.checkIdentity(name, footer);
      const bytes = footer.readDoubleLE(44);
      if (bytes !== size - FOOTER_BYTES) throw this.damage(name, 0, 'its length does not fit');
      const info = { id: name, from: footer.readDoubleLE(20), to: footer.readDoubleLE(28), bytes };
      return { ...info, crc: footer.readUInt32LE(52) };
    } catch (error) {
      throw error instanceof LogError ? error : this.damage(name, 0, errorText(error));
    } finally {
      this.io.close(fd);
    }
  }

  private checkIdentity(name: string, footer: Buffer): void {
    const identity = this.identity();
    const same =
      identity !== null &&
      footer.readUInt32LE(8) === identity.spaceId &&
      footer.readUInt32LE(12) === identity.keyLow &&
      footer.readUInt32LE(16) === identity.keyHigh;
    if (!same) throw this.damage(name, 0, 'it belongs to another log');
  }

  private open(name: string): number {
    try {
      return this.io.open(`${this.dir}/${name}`, 'read', 'reserve');
    } catch (error) {
      throw asLogError(error, `${this.dir}/${name}: opening it`);
    }
  }

  private damage(name: string, offset: number, text: string): LogError {
    return new LogError('Corrupt', `${this.dir}/${name}: damage at offset ${offset}: ${text}`);
  }
}

function chunkOf(buffer: Buffer, bytes: number): Buffer {
  return buffer.subarray(0, Math.min(buffer.length, bytes));
}

/** The file under its temporary name, open until it is finished or removed. */
class TemporaryFile {
  bytes = 0;
  crc = 0;
  private readonly io: FileIo;
  private readonly path: string;
  /** -1: closed. A number that was closed may be somebody else's file by now. */
  private fd: number;
  private unsynced = 0;

  constructor(io: FileIo, path: string) {
    this.io = io;
    this.path = path;
    this.fd = io.open(path, 'ensure', 'reserve');
  }

  async write(chunk: Uint8Array): Promise<void> {
    const { io, fd } = this;
    await writeFully({ io, fd }, chunk, this.bytes);
    this.crc = crc32(chunk, this.crc);
    this.bytes += chunk.length;
    this.unsynced += chunk.length;
    if (this.unsynced < SYNC_BYTES) return;
    this.unsynced = 0;
    await io.fdatasync(fd);
  }

  /** Ensures: all of it is durable. */
  async finish(footer: Uint8Array): Promise<void> {
    const { io, fd } = this;
    await writeFully({ io, fd }, footer, this.bytes);
    // An older, longer file of that name may have been there.
    await io.truncate(fd, this.bytes + footer.length);
    await io.fdatasync(fd);
    this.close();
  }

  /** Nothing is left of it under this name. */
  async remove(): Promise<void> {
    this.close();
    await this.io.unlink(this.path).catch(() => {});
  }

  private close(): void {
    if (this.fd < 0) return;
    const { fd } = this;
    this.fd = -1;
    this.io.close(fd);
  }
}
