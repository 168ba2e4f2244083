// A consumer: keeps so many dequeues of one connection in flight, and gives what arrives to the ledger. Without `wait` it is done when the
// queue is empty; with it, when told to stop.
import { OP, QME, REPLY_BIT, TPFLAG, TPQ } from '../../../proto/codes.ts';
import type { Frame } from '../../../proto/frame.ts';
import type { Dequeue } from '../../../proto/message.ts';
import { emptyQctl } from '../../../proto/qctl.ts';
import { decodeReply } from '../../../proto/reply.ts';
import { encodeRequest } from '../../../proto/request.ts';
import { describe, type Answers, type LeanConnection } from './connection.ts';

export interface ConsumerOptions {
  readonly handle: number;
  readonly inFlight: number;
  /** TPQWAIT. */
  readonly wait: boolean;
  /** Messages to take at most; not given: until the queue is empty. */
  readonly messagesMax?: number;
  /** A message arrived: its data, when, and how long after its dequeue was sent. */
  readonly onMessage: (data: Uint8Array | null, nowMs: number, ms: number) => void;
}

export class Consumer implements Answers {
  private readonly connection: LeanConnection;
  private readonly options: ConsumerOptions;
  private readonly request: Dequeue;
  private readonly sentAt: Float64Array;
  private open = 0;
  private sent = 0;
  private ending = false;
  private whenDone: () => void = () => {};

  constructor(connection: LeanConnection, options: ConsumerOptions) {
    this.connection = connection;
    this.options = options;
    this.sentAt = new Float64Array(options.inFlight);
    this.request = {
      op: OP.DEQUEUE,
      id: 0,
      queue: options.handle,
      ctl: options.wait ? emptyQctl(TPQ.TPQWAIT) : null,
      type: '',
      subtype: '',
      flags: options.wait ? TPFLAG.TPNOTIME : 0,
      tx: 0,
      waitMs: 0,
    };
    connection.answers = this;
  }

  /** Resolves when the queue was found empty and everything in flight has been answered. */
  run(): Promise<void> {
    const now = performance.now();
    for (let slot = 0; slot < this.options.inFlight; slot++) this.send(slot, now);
    this.connection.flush();
    return new Promise<void>((resolve) => {
      this.whenDone = resolve;
    });
  }

  close(): void {
    this.connection.close();
  }

  answered(frame: Frame, nowMs: number): boolean {
    if (!isOurs(frame)) return false;
    const reply = decodeReply(frame);
    const slot = reply.id - 1;
    this.open--;
    if (reply.op === OP.DEQUEUE) {
      this.options.onMessage(reply.body.data, nowMs, nowMs - this.sentAt[slot]!);
      if (!this.ending) this.send(slot, nowMs);
    } else if (reply.op === OP.ERROR && reply.diagnostic === QME.QMENOMSG) {
      // An empty queue ends a drain; a wait that was long enough is simply repeated.
      if (this.options.wait) this.send(slot, nowMs);
      else this.ending = true;
    } else {
      throw new Error(`a dequeue was refused: ${describe(reply)}`);
    }
    if (this.open === 0) this.whenDone();
    return true;
  }

  private send(slot: number, nowMs: number): void {
    if (this.sent === this.options.messagesMax) return;
    this.sent++;
    this.open++;
    this.sentAt[slot] = nowMs;
    this.request.id = slot + 1;
    encodeRequest(this.connection.writer, this.request);
  }
}

/** An answer to a DEQUEUE, or an ERROR whose id is a small one: those are slots. */
function isOurs(frame: Frame): boolean {
  const { bytes, start } = frame;
  const first = bytes[start + 1];
  if (first === 0xcc && bytes[start + 2] === OP.DEQUEUE + REPLY_BIT) return true;
  return first === OP.ERROR && bytes[start + 2]! < 0xce;
}
