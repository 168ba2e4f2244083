// W9: transactions over one space: take a message, put it on another queue, commit. Two queues of the same length; half of the clients move
// messages one way, half the other. Each transaction is a BEGIN, then its DEQUEUE, then its ENQUEUE and COMMIT in one write.
import { OP, QME } from '../../../proto/codes.ts';
import type { Frame } from '../../../proto/frame.ts';
import type { Dequeue, Enqueue } from '../../../proto/message.ts';
import { decodeReply } from '../../../proto/reply.ts';
import { encodeRequest } from '../../../proto/request.ts';
import { describe, type Answers, type LeanConnection } from './connection.ts';
import { slotId, slotOf } from './ids.ts';

const TIMEOUT_S = 60;

export interface MoverOptions {
  readonly from: number;
  readonly to: number;
  readonly inFlight: number;
  /** A transaction was committed, so many milliseconds after its BEGIN was sent. */
  readonly onCommit: (ms: number) => void;
}

export class Mover implements Answers {
  private readonly connection: LeanConnection;
  private readonly options: MoverOptions;
  private readonly dequeue: Dequeue;
  private readonly enqueue: Enqueue;
  private readonly beganAt: Float64Array;
  /** Transaction numbers. */
  private readonly tx: Uint32Array;
  private open = 0;
  private stopping = false;
  private whenDone: () => void = () => {};

  constructor(connection: LeanConnection, options: MoverOptions) {
    this.connection = connection;
    this.options = options;
    this.beganAt = new Float64Array(options.inFlight);
    this.tx = new Uint32Array(options.inFlight);
    const nothing = { ctl: null, flags: 0, tx: 0, id: 0 };
    this.dequeue = { op: OP.DEQUEUE, queue: options.from, type: '', subtype: '', waitMs: 0, ...nothing };
    const body = { type: 'CARRAY', subtype: '', data: null };
    this.enqueue = { op: OP.ENQUEUE, queue: options.to, body, ...nothing };
    connection.answers = this;
  }

  /** Resolves when it was told to stop and its last transaction has ended. */
  run(): Promise<void> {
    const now = performance.now();
    for (let slot = 0; slot < this.options.inFlight; slot++) this.begin(slot, now);
    this.connection.flush();
    return new Promise<void>((resolve) => {
      this.whenDone = resolve;
    });
  }

  stop(): void {
    this.stopping = true;
  }

  close(): void {
    this.connection.close();
  }

  answered(frame: Frame, nowMs: number): boolean {
    const reply = decodeReply(frame);
    const slot = slotOf(reply.id);
    if (slot < 0 || slot >= this.options.inFlight) return false;
    if (reply.op === OP.BEGIN) this.begun(slot, reply.tx);
    else if (reply.op === OP.DEQUEUE) this.taken(slot, reply.body.data);
    else if (reply.op === OP.COMMIT) this.committed(slot, nowMs);
    else if (reply.op === OP.ABORT) this.ended(slot, nowMs);
    else if (reply.op === OP.ERROR && reply.diagnostic === QME.QMENOMSG) this.abort(slot);
    else if (reply.op !== OP.ENQUEUE) throw new Error(`refused: ${describe(reply)}`);
    return true;
  }

  private begin(slot: number, nowMs: number): void {
    this.open++;
    this.beganAt[slot] = nowMs;
    const id = slotId(slot, OP.BEGIN);
    encodeRequest(this.connection.writer, { op: OP.BEGIN, id, timeoutS: TIMEOUT_S });
  }

  private begun(slot: number, tx: number): void {
    this.tx[slot] = tx;
    this.dequeue.id = slotId(slot, OP.DEQUEUE);
    this.dequeue.tx = tx;
    encodeRequest(this.connection.writer, this.dequeue);
  }

  private taken(slot: number, data: Uint8Array | null): void {
    const tx = this.tx[slot] ?? 0;
    const { enqueue } = this;
    const { writer } = this.connection;
    enqueue.id = slotId(slot, OP.ENQUEUE);
    enqueue.tx = tx;
    enqueue.body.data = data;
    encodeRequest(writer, enqueue);
    encodeRequest(writer, { op: OP.COMMIT, id: slotId(slot, OP.COMMIT), tx });
  }

  /** All messages of the queue are in transactions. */
  private abort(slot: number): void {
    encodeRequest(this.connection.writer, {
      op: OP.ABORT,
      id: slotId(slot, OP.ABORT),
      tx: this.tx[slot] ?? 0,
    });
  }

  private committed(slot: number, nowMs: number): void {
    this.options.onCommit(nowMs - (this.beganAt[slot] ?? nowMs));
    this.ended(slot, nowMs);
  }

  private ended(slot: number, nowMs: number): void {
    this.open--;
    if (!this.stopping) this.begin(slot, nowMs);
    else if (this.open === 0) this.whenDone();
  }
}
