// W11: clients that wait for a message with a corrid of their own, while others lie on the same queue. The latency is from the enqueue's call
// to the message's arrival at its client. The same on a queue with nothing else, in turns; and a drain of those that share a corrid.
import { OP, QME, TPFLAG, TPQ } from '../../../proto/codes.ts';
import type { Frame } from '../../../proto/frame.ts';
import type { Dequeue, Enqueue, QctlIn } from '../../../proto/message.ts';
import { emptyQctl } from '../../../proto/qctl.ts';
import { decodeReply } from '../../../proto/reply.ts';
import { encodeRequest } from '../../../proto/request.ts';
import { cpuTimeUs } from '../cpu-time.ts';
import { median } from '../figures.ts';
import { Histogram } from '../histogram.ts';
import { serveTask } from '../ipc.ts';
import { describe, LeanConnection } from '../load/connection.ts';
import { BODY_BYTES } from '../load/task.ts';
import type { Answer, CorridTask } from './task.ts';

const CLIENTS = 200;
/** Messages under way at a time: as many as in W5. */
const UNDER_WAY = 8;
/** Enqueues in flight while a queue is filled. */
const FILL_IN_FLIGHT = 256;
const SHARED = 'shared by all';
/** Messages of one drain of those that share a corrid. */
const DRAIN = 5000;
const WARM_ROUNDS = 1;

serveTask(async (asked): Promise<Answer> => {
  const task = asked as CorridTask;
  const { queues, others } = task;
  const control = await LeanConnection.open(task.port);
  await fill(control, await control.bind(task.qspace, queues.many), {
    count: others,
    corrid: (n) => `other ${n}`,
  });
  await fill(control, await control.bind(task.qspace, queues.one), { count: others, corrid: () => SHARED });
  const runs = { empty: [] as Run[], many: [] as Run[], one: [] as Run[], drain: [] as Run[] };
  for (let round = 0; round < WARM_ROUNDS + task.rounds; round++) {
    for (const name of ['empty', 'many', 'one'] as const) {
      const run = await waiting(task, queues[name]);
      if (round >= WARM_ROUNDS) runs[name].push(run);
    }
    const run = await drain(task, queues.one);
    if (round >= WARM_ROUNDS) runs.drain.push(run);
    await fill(control, await control.bind(task.qspace, queues.one), { count: DRAIN, corrid: () => SHARED });
  }
  control.close();
  return answer(others, runs);
});

interface Run {
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Processor time of the daemon, a message. */
  readonly serverUs: number;
}

function answer(
  others: number,
  { empty, many, one, drain: drained }: Readonly<Record<'empty' | 'many' | 'one' | 'drain', readonly Run[]>>,
): Answer {
  const line = (
    what: string,
    unit: string,
    { of, pick }: { of: readonly Run[]; pick: (run: Run) => number },
  ) => ({
    what: `W11, ${what}`,
    unit,
    measured: median(of.map(pick)),
    reference: median(empty.map(pick)),
  });
  const count = others.toLocaleString('en');
  const cases = [
    [`${count} others`, many],
    [`${count} others of one corrid`, one],
    [`taking those of one corrid`, drained],
  ] as const;
  const lines = cases.flatMap(([what, of]) => [
    line(`${what}: p50`, 'ms', { of, pick: (run) => run.p50Ms }),
    line(`${what}: p99`, 'ms', { of, pick: (run) => run.p99Ms }),
    line(`${what}: daemon`, 'us of processor', { of, pick: (run) => run.serverUs }),
  ]);
  const growth = (of: readonly Run[]) => median(of.map((run, i) => run.serverUs / empty[i]!.serverUs));
  return {
    lines,
    values: {
      'W11 p99 ms': median(many.map((run) => run.p99Ms)),
      'W11 p99 ms, one corrid': median(one.map((run) => run.p99Ms)),
      'W11 p99 ms, taking one corrid': median(drained.map((run) => run.p99Ms)),
      'W11 growth': growth(many),
      'W11 growth, one corrid': growth(one),
    },
  };
}

/** Waits for what it is sent: one dequeue by corrid, repeated. */
class Client {
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

async function open(task: CorridTask, qname: string): Promise<{ connection: LeanConnection; queue: number }> {
  const connection = await LeanConnection.open(task.port);
  return { connection, queue: await connection.bind(task.qspace, qname) };
}

/** Messages to waiting clients, so many under way, for the measured time. */
async function waiting(task: CorridTask, qname: string): Promise<Run> {
  const opened = await Promise.all(Array.from({ length: CLIENTS }, () => open(task, qname)));
  const producer = await open(task, qname);
  const latency = new Histogram();
  let underWay = 0;
  let stopping = false;
  let next = 0;
  let done: (() => void) | null = null;
  const send = (): void => {
    // Every client in turn, so that none is sent a second message before it has the first.
    const client = clients[next % CLIENTS]!;
    client.sentAt = performance.now();
    encodeRequest(
      producer.connection.writer,
      enqueue(producer.queue, next + 1, corridOf(`client ${next % CLIENTS}`)),
    );
    next++;
    underWay++;
  };
  const onMessage = (client: Client): void => {
    latency.record((performance.now() - client.sentAt) * 1000);
    underWay--;
    client.ask();
    if (!stopping) send();
    else if (underWay === 0) done?.();
    producer.connection.flush();
  };
  producer.connection.answers = { answered: (frame) => isEnqueued(decodeReply(frame)) };
  const clients = opened.map(({ connection, queue }, number) => {
    const ctl = { ...emptyQctl(TPQ.TPQWAIT | TPQ.TPQGETBYCORRID), corrid: corridOf(`client ${number}`) };
    return new Client(connection, { queue, ctl }, { message: onMessage, empty: unexpected });
  });
  for (const client of clients) client.ask();
  for (const { connection } of clients) connection.flush();
  // They are parked when a later request of each has been answered.
  await Promise.all(clients.map(({ connection }) => connection.ask((id) => ({ op: OP.PING, id }))));
  const serverUs = cpuTimeUs(task.pid);
  for (let i = 0; i < UNDER_WAY; i++) send();
  producer.connection.flush();
  await new Promise<void>((resolve) => {
    done = resolve;
    setTimeout(() => (stopping = true), task.measureMs);
  });
  const run = runOf(latency, cpuTimeUs(task.pid) - serverUs);
  for (const { connection } of [...clients, producer]) connection.close();
  return run;
}

/** The clients take, in turn and so many at a time, messages that share a corrid. */
async function drain(task: CorridTask, qname: string): Promise<Run> {
  const opened = await Promise.all(Array.from({ length: CLIENTS }, () => open(task, qname)));
  const latency = new Histogram();
  let asked = 0;
  let done: (() => void) | null = null;
  const ask = (): void => {
    if (asked === DRAIN) return;
    const client = clients[asked % CLIENTS]!;
    asked++;
    client.sentAt = performance.now();
    client.ask();
    client.connection.flush();
  };
  const onMessage = (client: Client): void => {
    latency.record((performance.now() - client.sentAt) * 1000);
    if (latency.count === DRAIN) done?.();
    else ask();
  };
  const ctl = { ...emptyQctl(TPQ.TPQGETBYCORRID), corrid: corridOf(SHARED) };
  const clients = opened.map(
    ({ connection, queue }) =>
      new Client(connection, { queue, ctl }, { message: onMessage, empty: unexpected }),
  );
  const serverUs = cpuTimeUs(task.pid);
  await new Promise<void>((resolve) => {
    done = resolve;
    for (let i = 0; i < UNDER_WAY; i++) ask();
  });
  const run = runOf(latency, cpuTimeUs(task.pid) - serverUs);
  for (const { connection } of clients) connection.close();
  return run;
}

function runOf(latency: Histogram, serverUs: number): Run {
  return {
    p50Ms: latency.percentile(0.5) / 1000,
    p99Ms: latency.percentile(0.99) / 1000,
    serverUs: serverUs / latency.count,
  };
}

function unexpected(): never {
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

function corridOf(text: string): Buffer {
  const corrid = Buffer.alloc(32);
  corrid.write(text);
  return corrid;
}

/** Enqueues so many messages. */
function fill(
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
