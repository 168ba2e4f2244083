// W8: a backlog in a daemon of its own: how fast it fills, what a message takes in memory, and, killed with all of it, how long until the
// next start is ready and has given the first message.
import { setTimeout as delay } from 'node:timers/promises';
import { OP } from '../../proto/codes.ts';
import { cpuTimeUs } from './cpu-time.ts';
import { QSPACE } from './daemon.ts';
import type { Figures } from './figures.ts';
import { LeanConnection } from './load/connection.ts';
import { QueueStatus } from './load/status.ts';
import { Backlog } from './scale/backlog.ts';

const QNAME = 'W8';
/** Until what the fill left to be collected and written is so. */
const SETTLE_MS = 1500;

export async function runBacklog(directory: string, messages: number): Promise<Figures> {
  // In two halves: what the second adds is of messages alone, the first has also filled the caches and warmed the code.
  const half = Math.ceil(messages / 2);
  const backlog = new Backlog({ directory, qnames: [QNAME], messages: half });
  await backlog.start();
  try {
    const first = await fill(backlog);
    const second = await fill(backlog);
    const acknowledged = first.acknowledged + second.acknowledged;
    await backlog.crash();
    const { readyMs, cpuMs } = await backlog.start();
    const firstMs = readyMs + (await firstMessage(backlog.server.port));
    const left = await asked(backlog, (status) => status.messages());
    if (left !== acknowledged - 1)
      throw new Error(`${acknowledged} were acknowledged, ${left} are left when one was taken`);
    return {
      messages: acknowledged,
      rate: acknowledged / (first.seconds + second.seconds),
      p50Us: NaN,
      p99Us: NaN,
      serverUs: (first.serverUs + second.serverUs) / acknowledged,
      loadUs: NaN,
      messagesPerSync: acknowledged / (first.syncs + second.syncs),
      extra: {
        'bytes of memory a message': (second.resident - first.resident) / second.acknowledged,
        'resident size / messages': second.resident / acknowledged,
        'ms to ready after kill -9': readyMs,
        'of them on a processor': cpuMs,
        'ms to the first message': firstMs,
      },
    };
  } finally {
    await backlog.crash();
  }
}

interface Filled {
  readonly acknowledged: number;
  readonly seconds: number;
  readonly serverUs: number;
  readonly syncs: number;
  /** Of the daemon, afterwards. */
  readonly resident: number;
}

async function fill(backlog: Backlog): Promise<Filled> {
  const { pid } = backlog.server;
  const batches = await asked(backlog, (status) => status.batches());
  const cpuUs = cpuTimeUs(pid);
  const { acknowledged, seconds } = await backlog.fill(null);
  const serverUs = cpuTimeUs(pid) - cpuUs;
  const syncs = (await asked(backlog, (status) => status.batches())) - batches;
  await delay(SETTLE_MS);
  return { acknowledged, seconds, serverUs, syncs, resident: backlog.memory().resident };
}

async function asked(backlog: Backlog, ask: (status: QueueStatus) => Promise<number>): Promise<number> {
  const connection = await LeanConnection.open(backlog.server.port);
  const answer = await ask(new QueueStatus(connection, { qspace: QSPACE, qname: QNAME }));
  connection.close();
  return answer;
}

/** Milliseconds for a new client to get it. */
async function firstMessage(port: number): Promise<number> {
  const startedAt = performance.now();
  const connection = await LeanConnection.open(port);
  const queue = { qspace: QSPACE, qname: QNAME };
  const none = { ctl: null, type: '', subtype: '', flags: 0, tx: 0, waitMs: 0 };
  const reply = await connection.ask((id) => ({ op: OP.DEQUEUE, id, queue, ...none }));
  if (reply.op !== OP.DEQUEUE) throw new Error('the first message was not given');
  const ms = performance.now() - startedAt;
  connection.close();
  return ms;
}
