// Writers and waiting readers in a closed loop: for each message that is received another is sent, so that as many are under way all the
// time and no queue grows. Readers may listen on another queue than the one that is written to: that of the replies. Ends by verifying that
// every message came back once.
import { setTimeout as delay } from 'node:timers/promises';
import { OP } from '../../../proto/codes.ts';
import type { Frame } from '../../../proto/frame.ts';
import type { Enqueue, QctlIn } from '../../../proto/message.ts';
import { decodeReply } from '../../../proto/reply.ts';
import { encodeRequest } from '../../../proto/request.ts';
import { describe, LeanConnection, type Answers } from './connection.ts';
import { Consumer } from './consumer.ts';
import { Ledger, numberBase, sentMsOf, stampedBody, writeStamp } from './stamp.ts';

const SETTLE_MS = 30_000;

export interface LoopOptions {
  readonly port: number;
  readonly qspace: string;
  readonly to: string;
  readonly from: string;
  readonly writers: number;
  readonly readers: number;
  /** Messages under way. */
  readonly underWay: number;
  readonly bodyBytes: number;
  readonly ctl: QctlIn | null;
  /** A message came back, so many milliseconds after it was sent. */
  readonly onMessage: (ms: number) => void;
}

export class Loop {
  private readonly options: LoopOptions;
  private readonly ledger = new Ledger();
  private readonly writers: Writer[] = [];
  private next = 0;
  private stopping = false;
  private whenEmpty: () => void = () => {};

  private constructor(options: LoopOptions) {
    this.options = options;
  }

  /** Begins at once. */
  static async start(options: LoopOptions): Promise<Loop> {
    const loop = new Loop(options);
    await loop.open();
    for (let i = 0; i < options.underWay; i++) loop.send(performance.now());
    return loop;
  }

  /** Sends nothing more, and waits for what is under way. */
  async stop(): Promise<void> {
    const empty = new Promise<void>((resolve) => {
      this.whenEmpty = resolve;
    });
    this.stopping = true;
    await Promise.race([empty, delay(SETTLE_MS)]);
    this.ledger.verify();
  }

  private async open(): Promise<void> {
    const { port, qspace, from, writers, readers, underWay } = this.options;
    for (let index = 0; index < writers; index++) {
      const connection = await LeanConnection.open(port);
      const queue = await connection.bind(qspace, this.options.to);
      this.writers.push(new Writer(connection, { index, queue, ledger: this.ledger, of: this.options }));
    }
    const onMessage = (data: Uint8Array | null, nowMs: number): void => this.received(data, nowMs);
    for (let i = 0; i < readers; i++) {
      const connection = await LeanConnection.open(port);
      const handle = await connection.bind(qspace, from);
      const inFlight = Math.ceil(underWay / readers);
      void new Consumer(connection, { handle, inFlight, wait: true, onMessage }).run();
    }
  }

  private received(data: Uint8Array | null, nowMs: number): void {
    const { ledger } = this;
    if (ledger.receive(data) !== 0 && Buffer.isBuffer(data)) this.options.onMessage(nowMs - sentMsOf(data));
    if (!this.stopping) this.send(nowMs);
    else if (ledger.received === ledger.sent) this.whenEmpty();
  }

  private send(nowMs: number): void {
    this.writers[this.next % this.writers.length]?.send(nowMs);
    this.next++;
  }
}

interface WriterOptions {
  readonly index: number;
  readonly queue: number;
  readonly ledger: Ledger;
  readonly of: LoopOptions;
}

class Writer implements Answers {
  private readonly connection: LeanConnection;
  private readonly ledger: Ledger;
  private readonly body: Buffer;
  private readonly request: Enqueue;
  private number: number;
  private flushing = false;

  constructor(connection: LeanConnection, { index, queue, ledger, of }: WriterOptions) {
    this.connection = connection;
    this.ledger = ledger;
    this.number = numberBase(index);
    this.body = stampedBody(of.bodyBytes);
    const body = { type: 'CARRAY', subtype: '', data: this.body };
    this.request = { op: OP.ENQUEUE, id: 0, queue, ctl: of.ctl, body, flags: 0, tx: 0 };
    connection.answers = this;
  }

  /** What is sent in one turn goes out as one write. */
  send(nowMs: number): void {
    this.number++;
    writeStamp(this.body, this.number, nowMs);
    this.request.id = this.number;
    this.ledger.send(this.number);
    encodeRequest(this.connection.writer, this.request);
    if (this.flushing) return;
    this.flushing = true;
    setImmediate(() => {
      this.flushing = false;
      this.connection.flush();
    });
  }

  answered(frame: Frame): boolean {
    const reply = decodeReply(frame);
    if (reply.op === OP.ENQUEUE) return true;
    if (reply.op === OP.ERROR) throw new Error(`an enqueue was refused: ${describe(reply)}`);
    return false;
  }
}
