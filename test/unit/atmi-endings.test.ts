// tpcommit, tpabort and tpsuspend of a transaction that has been rolled back already, e.g. by its time-out: answered when that is on disk. And a
// commit over several spaces that is refused at its last moment.
import { describe, expect, it } from 'vitest';
import { OP, QME, TPERRNO } from '../../proto/codes.ts';
import type { Reply } from '../../proto/message.ts';
import { Client } from '../../src/atmi/client.ts';
import { Joins } from '../../src/atmi/joins.ts';
import { AtmiRequests } from '../../src/atmi/requests.ts';
import { Services } from '../../src/atmi/services.ts';
import { type Transaction, Transactions } from '../../src/atmi/transactions.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import { openTlog } from '../../src/engine/tlog.ts';
import { TwoPhase } from '../../src/engine/two-phase.ts';
import { Take } from '../../src/tmqforward/take.ts';
import { openMemoryLog } from '../../src/wal/memory/memory-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { properties, queueAttributes, spaceAttributes } from '../support/queue-values.ts';

const TIMEOUT_S = 5;
const nobody = (): never => {
  throw new Error('not now');
};

const ulog = { info: () => {}, warn: () => {}, error: () => {} };
const soon = (run: () => void): void => void setImmediate(run);

const isOwnService = (): boolean => false;

async function rest(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise<void>((resolve) => void setImmediate(resolve));
}

const clientOf = (replies: Reply[]): Client =>
  new Client(
    { cltid: new Uint8Array(16), usrname: '', cltname: '', grpname: '', appkey: -1 },
    { send: (reply) => void replies.push(reply) },
  );

/** A queue space in memory with one message on Q. */
async function spaceOf(clock: ManualClock) {
  const log = openMemoryLog({ clock });
  const ports = { clock, ulog, soon, runCommand: () => {} };
  const engine = await openSpace(log, new AbortController().signal, ports);
  engine.define({ kind: 'defineSpace', attributes: spaceAttributes('S') });
  engine.define({ kind: 'defineQueue', attributes: queueAttributes('Q', { retries: 9 }) });
  const message = { qname: 'Q', properties: properties({}), terms: null, data: Buffer.from('x'), work: null };
  expect(engine.enqueue(message).code).toBe(QME.OK);
  await rest();
  return { log, engine };
}

function requestsOf(clock: ManualClock, transactions: Transactions): AtmiRequests {
  const services = new Services({ clock, messageBytesMax: 1000, joins: new Joins(transactions) });
  return new AtmiRequests({ clock, transactions, services, blockTimeMs: 60_000, isOwnService });
}

/** The client's new transaction, which holds the message of every space. */
function begun(
  { requests, client }: { requests: AtmiRequests; client: Client },
  transactions: Transactions,
  engines: readonly SpaceEngine[],
): Transaction {
  requests.begin(client, { op: OP.BEGIN, id: 1, timeoutS: TIMEOUT_S });
  const [transaction] = client.transactions.values();
  if (transaction === undefined) throw new Error('no transaction');
  for (const engine of engines) {
    const work = transactions.enlist(transaction, engine);
    if ('failure' in work) throw new Error(work.message);
    const take = new Take({ took: () => {}, refused: nobody }, { qname: 'Q', work, deadlineMs: null });
    engine.dequeue(take);
    expect(take.state).toBe('taken');
  }
  return transaction;
}

/** A client whose transaction holds a message; the log's syncs are held, and the transaction's time is over. */
async function timedOut() {
  const clock = new ManualClock();
  const { log, engine } = await spaceOf(clock);
  const transactions = new Transactions(clock, { maxGtt: 10, maxTranTimeS: 0 });
  const requests = requestsOf(clock, transactions);
  const replies: Reply[] = [];
  const client = clientOf(replies);
  const transaction = begun({ requests, client }, transactions, [engine]);
  await rest();
  log.holdSyncs();
  clock.advance(TIMEOUT_S * 1000);
  expect(transaction.state).toBe('rollback-only');
  replies.length = 0;
  return { log, requests, client, replies, tx: transaction.number };
}

describe('the retry that a time-out costs is on disk before', () => {
  it('tpabort is answered', async () => {
    const { log, requests, client, replies, tx } = await timedOut();
    requests.abort(client, { op: OP.ABORT, id: 2, tx });
    await rest();
    expect(replies).toEqual([]);
    log.releaseSyncs();
    await rest();
    expect(replies).toEqual([{ op: OP.ABORT, id: 2 }]);
  });

  it.each(['tpcommit', 'tpsuspend'])('%s is answered TPEABORT', async (name) => {
    const { log, requests, client, replies, tx } = await timedOut();
    if (name === 'tpcommit') requests.commit(client, { op: OP.COMMIT, id: 2, tx });
    else requests.suspend(client, { op: OP.SUSPEND, id: 2, tx });
    expect(client.transactions.size).toBe(0);
    await rest();
    expect(replies).toEqual([]);
    log.releaseSyncs();
    await rest();
    expect(replies).toMatchObject([{ op: OP.ERROR, id: 2, tperrno: TPERRNO.TPEABORT }]);
  });
});

it('a commit over two spaces that the transaction log refuses at the last moment is TPEABORT, and nothing of it is done', async () => {
  const clock = new ManualClock();
  const engines = [(await spaceOf(clock)).engine, (await spaceOf(clock)).engine];
  const ports = { clock, ulog, soon, newIdentity: () => 'tlog' };
  const twoPhase = new TwoPhase();
  twoPhase.tlog = await openTlog(openMemoryLog({ clock }), new AbortController().signal, ports);
  const transactions = new Transactions(clock, { maxGtt: 10, maxTranTimeS: 0 }, { twoPhase });
  const requests = requestsOf(clock, transactions);
  const replies: Reply[] = [];
  const client = clientOf(replies);
  const { number } = begun({ requests, client }, transactions, engines);
  twoPhase.tlog.promise = () => false;
  requests.commit(client, { op: OP.COMMIT, id: 2, tx: number });
  await rest();
  expect(replies.at(-1)).toMatchObject({ op: OP.ERROR, id: 2, tperrno: TPERRNO.TPEABORT });
  expect(engines.map(({ space }) => space.queue('Q')?.ready)).toEqual([1, 1]);
});
