// A producer: keeps so many enqueues of one connection in flight until told to stop. Nothing is allocated per message.
import { OP, REPLY_BIT } from '../../../proto/codes.ts';
import type { Frame } from '../../../proto/frame.ts';
import type { Enqueue } from '../../../proto/message.ts';
import { encodeRequest } from '../../../proto/request.ts';
import type { Answers, LeanConnection } from './connection.ts';
import { numberBase, stampedBody, writeStamp } from './stamp.ts';
import { BODY_BYTES } from './task.ts';

export interface ProducerOptions {
  /** Numbers the messages: unique in the run. */
  readonly index: number;
  readonly handle: number;
  readonly inFlight: number;
  /** Not given: 256. */
  readonly bodyBytes?: number;
  /** Messages to send at most. */
  readonly messagesMax: number;
  /** The message is about to be sent. */
  readonly onSend: (number: number) => void;
  /** The message was acknowledged, so many milliseconds after it was sent. */
  readonly onAnswer: (ms: number) => void;
}

export class Producer implements Answers {
  acknowledged = 0;
  private readonly connection: LeanConnection;
  private readonly options: ProducerOptions;
  private readonly body: Buffer;
  private readonly request: Enqueue;
  private readonly base: number;
  private readonly sentAt: Float64Array;
  private sent = 0;
  private stopped = false;
  private whenDone: () => void = () => {};

  constructor(connection: LeanConnection, options: ProducerOptions) {
    this.connection = connection;
    this.options = options;
    this.body = stampedBody(options.bodyBytes ?? BODY_BYTES);
    this.base = numberBase(options.index) + 1;
    this.sentAt = new Float64Array(options.inFlight);
    this.request = {
      op: OP.ENQUEUE,
      id: 0,
      queue: options.handle,
      ctl: null,
      body: { type: 'CARRAY', subtype: '', data: this.body },
      flags: 0,
      tx: 0,
    };
    connection.answers = this;
  }

  /** Sends the first requests; resolves when the last answer has come. */
  run(): Promise<void> {
    const now = performance.now();
    for (let i = 0; i < this.options.inFlight; i++) this.send(now);
    this.connection.flush();
    return new Promise<void>((resolve) => {
      this.whenDone = resolve;
    });
  }

  /** Sends nothing more; `run` resolves when what is in flight has been answered. */
  stop(): void {
    this.stopped = true;
  }

  close(): void {
    this.connection.close();
  }

  /** See LeanConnection. */
  expectEnd(): void {
    this.stopped = true;
    this.connection.expectEnd();
  }

  answered(frame: Frame, nowMs: number): boolean {
    const id = enqueuedId(frame);
    if (id < this.base) return false;
    this.acknowledged++;
    this.options.onAnswer(nowMs - this.sentAt[(id - this.base) % this.options.inFlight]!);
    this.send(nowMs);
    if (this.acknowledged === this.sent) this.whenDone();
    return true;
  }

  private send(nowMs: number): void {
    if (this.stopped || this.sent === this.options.messagesMax) return;
    const number = this.base + this.sent;
    // Answers of one connection's enqueues come in the order of sending, so a slot is free again when its turn comes.
    this.sentAt[this.sent % this.options.inFlight] = nowMs;
    this.sent++;
    writeStamp(this.body, number, nowMs);
    this.request.id = number;
    this.options.onSend(number);
    encodeRequest(this.connection.writer, this.request);
  }
}

/** The id of a positive answer to an ENQUEUE without a msgid, which is `93 cc 83 ce id c0`; −1 for any other frame. */
function enqueuedId(frame: Frame): number {
  const { bytes, start, end } = frame;
  if (end - start !== 9 || bytes[start + 2] !== OP.ENQUEUE + REPLY_BIT || bytes[start + 3] !== 0xce)
    return -1;
  return bytes.readUInt32BE(start + 4);
}
