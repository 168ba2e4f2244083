// The numbers of transactions: they fit the wire however long the daemon runs, and an open one keeps its own.
import { expect, it } from 'vitest';
import { Client } from '../../src/atmi/client.ts';
import { Transactions } from '../../src/atmi/transactions.ts';
import { ManualClock } from '../support/manual-clock.ts';

it('begin again at 1 after 2^31 − 1, but for those that are open', () => {
  const identity = { cltid: new Uint8Array(16), usrname: '', cltname: '', grpname: '', appkey: -1 };
  const client = new Client(identity, { send: () => {} });
  const clock = new ManualClock();
  const limits = { maxGtt: 10, maxTranTimeS: 0 };
  const first = new Transactions(clock, limits);
  expect([first.begin(client, 0)?.number, first.begin(client, 0)?.number]).toEqual([1, 2]);
  const later = new Transactions(clock, limits, { last: 0x7fff_fffe });
  expect([later.begin(client, 0)?.number, later.begin(client, 0)?.number]).toEqual([0x7fff_ffff, 3]);
});
