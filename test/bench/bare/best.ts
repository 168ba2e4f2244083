// The bare pipeline, best variant, without anything to spare: headers read at fixed places, no object a message, the answers of a commit
// in one buffer a connection. It is the ceiling of what a Node process does here, and no durable queue reaches it.
import type { Socket } from 'node:net';
import type { Batch } from './batch.ts';
import { readFrames } from './connection.ts';
import { ANSWER_BYTES, AT, BARE_OP, writeAnswer } from './wire.ts';

const IDS_MAX = 65_536;

interface BestConnection {
  readonly socket: Socket;
  /** Ids that the open batch answers. */
  readonly ids: Uint32Array;
  count: number;
}

export class BestPipeline {
  private readonly batch: Batch;
  private waiting: BestConnection[] = [];

  constructor(batch: Batch) {
    this.batch = batch;
  }

  accept(socket: Socket): void {
    const connection: BestConnection = { socket, ids: new Uint32Array(IDS_MAX), count: 0 };
    readFrames(socket, (bytes, at, end) => {
      if (bytes[at + AT.OP] === BARE_OP.STATUS) return this.status(socket);
      const id = bytes.readUInt32BE(at + AT.ID);
      this.batch.add({ id, queue: bytes[at + AT.QUEUE]! }, bytes, { from: at + AT.DATA, to: end });
      if (this.waiting.length === 0) setImmediate(() => this.commit());
      if (connection.count === 0) this.waiting.push(connection);
      connection.ids[connection.count++] = id;
      return undefined;
    });
  }

  private commit(): void {
    this.batch.commit();
    for (const connection of this.waiting) {
      const answers = Buffer.allocUnsafe(connection.count * ANSWER_BYTES);
      for (let i = 0; i < connection.count; i++) {
        writeAnswer(answers, i * ANSWER_BYTES, { op: BARE_OP.ENQUEUED, value: connection.ids[i]! });
      }
      connection.count = 0;
      connection.socket.write(answers);
    }
    this.waiting = [];
  }

  private status(socket: Socket): void {
    const answer = Buffer.allocUnsafe(ANSWER_BYTES);
    writeAnswer(answer, 0, { op: BARE_OP.SYNCS, value: this.batch.syncs });
    socket.write(answer);
  }
}
