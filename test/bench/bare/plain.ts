// The bare pipeline, plain variant, the one of the table in PERFORMANCE.md: frame → header → batch → sync → corked reply, as one writes
// it down: a view and an unpacked array a frame, an object a request, a buffer an answer. What arrives while a sync runs is the next batch.
import type { Socket } from 'node:net';
import { Packr } from 'msgpackr';
import type { Batch } from './batch.ts';
import { readFrames } from './connection.ts';
import { ANSWER_BYTES, BARE_OP, writeAnswer } from './wire.ts';

interface Pending {
  readonly id: number;
  readonly socket: Socket;
}

const packr = new Packr({ useRecords: false });

export class PlainPipeline {
  private readonly batch: Batch;
  private pending: Pending[] = [];

  constructor(batch: Batch) {
    this.batch = batch;
  }

  accept(socket: Socket): void {
    readFrames(socket, (bytes, at, end) => {
      const [op, id, queue, data] = packr.unpack(bytes.subarray(at + 4, end)) as [
        number,
        number,
        number,
        Buffer,
      ];
      if (op === BARE_OP.STATUS) return socket.write(answer(BARE_OP.SYNCS, this.batch.syncs));
      if (this.pending.length === 0) setImmediate(() => this.commit());
      this.batch.add({ id, queue }, data, { from: 0, to: data.length });
      return this.pending.push({ id, socket });
    });
  }

  private commit(): void {
    this.batch.commit();
    const answered = this.pending;
    this.pending = [];
    const sockets = new Set(answered.map(({ socket }) => socket));
    for (const socket of sockets) socket.cork();
    for (const { id, socket } of answered) socket.write(answer(BARE_OP.ENQUEUED, id));
    for (const socket of sockets) socket.uncork();
  }
}

function answer(op: number, value: number): Buffer {
  const frame = Buffer.allocUnsafe(ANSWER_BYTES);
  writeAnswer(frame, 0, { op, value });
  return frame;
}
