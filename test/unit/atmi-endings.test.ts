// tpcommit, tpabort and tpsuspend of a transaction that has been rolled back already, e.g. by its time-out: answered when that is on disk.
import { describe, expect, it } from 'vitest';
import { OP, QME, TPERRNO } from '../../proto/codes.ts';
import type { Reply } from '../../proto/message.ts';
import { Client } from '../../src/atmi/client.ts';
import { Joins } from '../../src/atmi/joins.ts';
import { AtmiRequests } from '../../src/atmi/requests.ts';
import { Services } from '../../src/atmi/services.ts';
import { Transactions } from '../../src/atmi/transactions.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import { Take, type Taker } from '../../src/tmqforward/take.ts';
import { openMemoryLog } from '../../src/wal/memory/memory-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { properties, queueAttributes, spaceAttributes } from '../support/queue-values.ts';

const TIMEOUT_S = 5;
const nobody = (): never => {
  throw new Error('not now');
};

const soon = (run: () => void): void => void setImmediate(run);

async function rest(): Promise<void> {
  for (let i = 0; i < 10; i++) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** A client whose transaction holds a message; from here on the log's syncs are held, and the transaction's time passes. */
async function timedOut() {
  const clock = new ManualClock();
  const log = openMemoryLog({ clock });
  const ulog = { info: () => {}, warn: () => {}, error: () => {} };
  const ports = { clock, ulog, soon, runCommand: () => {} };
  const engine = await openSpace(log, new AbortController().signal, ports);
  engine.define({ kind: 'defineSpace', attributes: spaceAttributes('S') });
  engine.define({ kind: 'defineQueue', attributes: queueAttributes('Q', { retries: 9 }) });
  const message = { qname: 'Q', properties: properties({}), terms: null, data: Buffer.from('x'), work: null };
  expect(engine.enqueue(message).code).toBe(QME.OK);
  await rest();
  const transactions = new Transactions(clock, { maxGtt: 10, maxTranTimeS: 0 });
  const services = new Services({ clock, messageBytesMax: 1000, joins: new Joins(transactions) });
  const requests = new AtmiRequests({
    clock,
    transactions,
    services,
    blockTimeMs: 60_000,
    isOwnService: () => false,
  });
  const replies: Reply[] = [];
  const identity = { cltid: new Uint8Array(16), usrname: '', cltname: '', grpname: '', appkey: -1 };
  const client = new Client(identity, { send: (reply) => void replies.push(reply) });
  requests.begin(client, { op: OP.BEGIN, id: 1, timeoutS: TIMEOUT_S });
  const [transaction] = client.transactions.values();
  if (transaction === undefined) throw new Error('no transaction');
  const taker: Taker = { took: () => {}, refused: nobody };
  const work = transactions.enlistFirst(transaction, engine);
  const take = new Take(taker, { qname: 'Q', work, deadlineMs: null });
  engine.dequeue(take);
  expect(take.state).toBe('taken');
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
