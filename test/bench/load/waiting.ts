// Clients of one queue that ask for messages by their corrid, and the messages for them: the load of W11.
import { OP, QME, TPFLAG, TPQ } from '../../../proto/codes.ts';
import type { Frame } from '../../../proto/frame.ts';
import type { Dequeue, Enqueue, QctlIn } from '../../../proto/message.ts';
import { emptyQctl } from '../../../proto/qctl.ts';
import { decodeReply } from '../../../proto/reply.ts';
import { encodeRequest } from '../../../proto/request.ts';
import { describe, LeanConnection } from './connection.ts';
import { BODY_BYTES } from './task.ts';

export const CLIENTS = 200;
/** Messages under way at a time: as many as in W5. */
export const UNDER_WAY = 8;
/** Enqueues in flight while a queue is filled. */
const FILL_IN_FLIGHT = 256;

export interface Place {
  readonly port: number;
  readonly qspace: string;
}

/** So many messages to waiting clients are under way from `start` on until `stop`. */
export class WaitingClients {
  private readonly clients: Client[];
  private readonly producer: Opened;
  private readonly record: (ms: number) => void;
  private underWay = 0;
  private stopping = false;
  private next = 0;
  private whenDone: () => void = () => {};

  private constructor(opened: readonly Opened[], producer: Opened, record: (ms: number) => void) {
    this.producer = producer;
    this.record = record;
    this.clients = opened.map(({ connection, queue }, number) => {
      const corrid = corridOf(`client ${number}`);
      const ctl = { ...emptyQctl(TPQ.TPQWAIT | TPQ.TPQGETBYCORRID), corrid };
      const message = (client: Client): void => this.received(client);
      return new Client(connection, { queue, ctl }, { message, empty: unexpected });
    });
    producer.connection.answers = { answered: (frame) => isEnqueued(decodeReply(frame)) };
  }

  /** All of them wait when it resolves. */
  static async park(place: Place, qname: string, record: (ms: number) => void): Promise<WaitingClients> {
    const opened = await openClients(place, qname);
    const all = new WaitingClients(opened, await open(place, qname), record);
    const { clients } = all;
    for (const client of clients) client.ask();
    for (const { connection } of clients) connection.flush();
    // They are parked when a later request of each has been answered.
    await Promise.all(clients.map(({ connection }) => connection.ask((id) => ({ op: OP.PING, id }))));
    return all;
  }

  start(): void {
    for (let i = 0; i < UNDER_WAY; i++) this.send();
    this.producer.connection.flush();
  }

  /** Resolves when what was under way has arrived. */
  async stop(): Promise<void> {
    this.stopping = true;
    await new Promise<void>((resolve) => {
      this.whenDone = resolve;
      if (this.underWay === 0) resolve();
    });
    for (const { connection } of [...this.clients, this.producer]) connection.close();
  }

  private send(): void {
    // Every client in turn, so that none is sent a second message before it has the first.
    const number = this.next % CLIENTS;
    const client = this.clients[number];
    if (client === undefined) return;
    client.sentAt = performance.now();
    this.next++;
    this.underWay++;
    const { connection, queue } = this.producer;
    encodeRequest(connection.writer, enqueue(queue, this.next, corridOf(`client ${number}`)));
  }

  private received(client: Client): void {
    this.record(performance.now() - client.sentAt);
    this.underWay--;
    client.ask();
    if (!this.stopping) this.send();
    else if (this.underWay === 0) this.whenDone();
    this.producer.connection.flush();
  }
}

/** Waits for what it is sent: one dequeue by corrid, repeated. */
export class Client {
  readonly connection: LeanConnection;
  private readonly request: Dequeue;
  private readonly onMessage: (client: Client) => void;
  private readonly onEmpty: () => void;
  sentAt = 0;

  constructor(
    connection: LeanConnection,
    { queue, ctl }: { queue: number; ctl: QctlIn },
    on: { message: (client: Client) => void; empty: () => void },
  ) {
    this.connection = connection;
    const flags = (ctl.flags & TPQ.TPQWAIT) === 0 ? 0 : TPFLAG.TPNOTIME;
    this.request = { op: OP.DEQUEUE, id: 1, queue, ctl, type: '', subtype: '', flags, tx: 0, waitMs: 0 };
    this.onMessage = on.message;
    this.onEmpty = on.empty;
    connection.answers = { answered: (frame) => this.answered(frame) };
  }

  ask(): void {
    encodeRequest(this.connection.writer, this.request);
  }

  private answered(frame: Frame): boolean {
    const reply = decodeReply(frame);
    if (reply.op === OP.DEQUEUE) this.onMessage(this);
    else if (reply.op === OP.ERROR && reply.diagnostic === QME.QMENOMSG) this.onEmpty();
    else if (reply.op === OP.PING) return false;
    else throw new Error(`a dequeue was refused: ${describe(reply)}`);
    return true;
  }
}

export interface Opened {
  readonly connection: LeanConnection;
  readonly queue: number;
}

async function open({ port, qspace }: Place, qname: string): Promise<Opened> {
  const connection = await LeanConnection.open(port);
  return { connection, queue: await connection.bind(qspace, qname) };
}

export function openClients(place: Place, qname: string): Promise<Opened[]> {
  return Promise.all(Array.from({ length: CLIENTS }, () => open(place, qname)));
}

export function unexpected(): never {
  throw new Error('a dequeue was told that there is no message');
}

function isEnqueued(reply: ReturnType<typeof decodeReply>): boolean {
  if (reply.op === OP.ENQUEUE) return true;
  if (reply.op === OP.ERROR) throw new Error(`an enqueue was refused: ${describe(reply)}`);
  return false;
}

const BODY = Buffer.alloc(BODY_BYTES, 0x2e);

function enqueue(queue: number, id: number, corrid: Uint8Array): Enqueue {
  const ctl = { ...emptyQctl(TPQ.TPQCORRID), corrid };
  return {
    op: OP.ENQUEUE,
    id,
    queue,
    ctl,
    body: { type: 'CARRAY', subtype: '', data: BODY },
    flags: 0,
    tx: 0,
  };
}

export function corridOf(text: string): Buffer {
  const corrid = Buffer.alloc(32);
  corrid.write(text);
  return corrid;
}

/** Enqueues so many messages. */
export function fillWithCorrids(
  connection: LeanConnection,
  queue: number,
  { count, corrid }: { count: number; corrid: (n: number) => string },
): Promise<void> {
  let sent = 0;
  let answered = 0;
  return new Promise<void>((resolve) => {
    const send = (): void => {
      if (sent === count) return;
      encodeRequest(connection.writer, enqueue(queue, sent + 1, corridOf(corrid(sent))));
      sent++;
    };
    connection.answers = {
      answered: (frame) => {
        const isOne = isEnqueued(decodeReply(frame));
        if (!isOne) return false;
        answered++;
        send();
        if (answered === count) resolve();
        return true;
      },
    };
    for (let i = 0; i < FILL_IN_FLIGHT; i++) send();
    connection.flush();
    if (count === 0) resolve();
  });
}
