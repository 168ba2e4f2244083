// Transactions of the domain: their numbers fit the wire however long the daemon runs, and an open one keeps its own; none is committed late.
import { expect, it } from 'vitest';
import { Client } from '../../src/atmi/client.ts';
import { Transactions } from '../../src/atmi/transactions.ts';
import type { Clock } from '../../src/base/clock.ts';
import { ManualClock } from '../support/manual-clock.ts';

const identity = { cltid: new Uint8Array(16), usrname: '', cltname: '', grpname: '', appkey: -1 };
const client = new Client(identity, { send: () => {} });

it('begin again at 1 after 2^31 − 1, but for those that are open', () => {
  const clock = new ManualClock();
  const limits = { maxGtt: 10, maxTranTimeS: 0 };
  const first = new Transactions(clock, limits);
  expect([first.begin(client, 0)?.number, first.begin(client, 0)?.number]).toEqual([1, 2]);
  const later = new Transactions(clock, limits, { last: 0x7fff_fffe });
  expect([later.begin(client, 0)?.number, later.begin(client, 0)?.number]).toEqual([0x7fff_ffff, 3]);
});

it('whose time is over when the commit comes is rolled back, whether or not the timer has had its turn', () => {
  const manual = new ManualClock();
  let aheadMs = 0;
  const busy: Clock = {
    wallMs: () => manual.wallMs(),
    monoMs: () => manual.monoMs() + aheadMs,
    setTimer: (atMs, run) => manual.setTimer(atMs, run),
  };
  const transactions = new Transactions(busy, { maxGtt: 10, maxTranTimeS: 0 });
  const [inTime, late] = [transactions.begin(client, 1), transactions.begin(client, 1)];
  aheadMs = 999;
  expect(inTime === null ? null : transactions.commit(inTime)).not.toBeNull();
  aheadMs = 1000;
  expect(late === null ? undefined : transactions.commit(late)).toBeNull();
});
