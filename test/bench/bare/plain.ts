// The bare pipeline, plain variant, the one of the table in PERFORMANCE.md: frame → header → batch → sync → corked reply, as one first
// writes it down: an async function a message, a view and an unpacked array a frame, a checksum a record beside the batch's, a buffer an
// answer. What arrives while a sync runs is the next batch. What each of these costs is what best.ts leaves out.
import type { Socket } from 'node:net';
import { crc32 } from 'node:zlib';
import { Packr } from 'msgpackr';
import type { Batch } from './batch.ts';
import { readFrames } from './connection.ts';
import { ANSWER_BYTES, BARE_OP, writeAnswer } from './wire.ts';

type Request = [op: number, id: number, queue: number, data: Buffer];

const GROUP_BYTES = 4 * 1024 * 1024;

const packr = new Packr({ useRecords: false });

/** Records that wait for the next sync, and who waits for it. */
class Open {
  readonly records: Buffer[] = [];
  resolve: () => void = () => {};
  readonly durable = new Promise<void>((resolve) => {
    this.resolve = resolve;
  });
}

export class PlainPipeline {
  private readonly batch: Batch;
  private open: Open | null = null;

  constructor(batch: Batch) {
    this.batch = batch;
  }

  accept(socket: Socket): void {
    readFrames(socket, (bytes, at, end) => {
      void this.handle(socket, bytes.subarray(at + 4, end));
    });
  }

  private async handle(socket: Socket, frame: Buffer): Promise<void> {
    const [op, id, queue, data] = packr.unpack(frame) as Request;
    if (op === BARE_OP.STATUS) {
      socket.write(answer(BARE_OP.SYNCS, this.batch.syncs));
      return;
    }
    const head = packr.pack([id, queue, crc32(data)]);
    await this.append(Buffer.from(head), data);
    if (socket.writableCorked === 0) {
      socket.cork();
      process.nextTick(() => socket.uncork());
    }
    socket.write(answer(BARE_OP.ENQUEUED, id));
  }

  private append(head: Buffer, data: Buffer): Promise<void> {
    if (this.open === null) {
      this.open = new Open();
      setImmediate(() => this.commit());
    }
    this.open.records.push(head, data);
    return this.open.durable;
  }

  private commit(): void {
    const { open, batch } = this;
    this.open = null;
    if (open === null) return;
    for (const records of sized(open.records)) {
      const bytes = Buffer.concat(records);
      batch.add({ id: 0, queue: 0 }, bytes, { from: 0, to: bytes.length });
    }
    batch.commit();
    open.resolve();
  }
}

/** The records in groups that a batch's buffer has room for: one group, but for large data. */
function sized(records: readonly Buffer[]): Buffer[][] {
  const groups: Buffer[][] = [];
  let bytes = Infinity;
  for (const record of records) {
    bytes += record.length;
    if (bytes > GROUP_BYTES) {
      groups.push([]);
      bytes = record.length;
    }
    groups.at(-1)?.push(record);
  }
  return groups;
}

function answer(op: number, value: number): Buffer {
  const frame = Buffer.allocUnsafe(ANSWER_BYTES);
  writeAnswer(frame, 0, { op, value });
  return frame;
}
