// Room in the log. While it is being prepared an enqueue that waits for its place is not overtaken by what its client sent after it
// [PROTOCOL 7, Order, Transactions]. When there is none, enqueues are refused at once, and all that frees messages goes on, over power
// cuts too [C05, C15].
import { expect, test } from 'vitest';
import { QME } from '../../proto/codes.ts';
import { Prng } from '../../src/base/prng.ts';
import { readAll } from '../crash/contents.ts';
import { bodyOf, keyOf } from '../support/ledger-body.ts';
import { checkAndSettle } from '../support/ledger-check.ts';
import { type Item, Ledger } from '../support/ledger.ts';
import type { EngineClient } from './engine-calls.ts';
import { EngineLife, SEGMENT_BYTES } from './engine-life.ts';
import { MemoryDisk } from './faulty-file-io.ts';

/** More than two segments of the log: room for them has to be prepared. */
const BIG = [0, 1, 2].map((n) => `big/${n}/60000`);

async function openLife(): Promise<EngineLife> {
  return EngineLife.open({ disk: new MemoryDisk(), prng: new Prng(1), queues: ['Q'], treason: 'none' });
}

test('a commit takes effect after the enqueues that were sent before it', async () => {
  const life = await openLife();
  const client = life.client();
  const transaction = await client.begin();
  const puts = BIG.map((key) => transaction.put('Q', bodyOf(key)));
  const [commit] = await Promise.allSettled([transaction.commit()]);
  const ends = await Promise.allSettled(puts);
  const committed = commit.status === 'fulfilled';
  const expected = committed ? BIG : [];
  expect(ends.map((end) => end.status === 'fulfilled')).toEqual(BIG.map(() => committed));
  const found: string[] = [];
  for (let data = await client.take('Q'); data !== null; data = await client.take('Q'))
    found.push(keyOf(data));
  expect(found).toEqual(expected);
});

test('a dequeue sees the enqueues that were sent before it', async () => {
  const life = await openLife();
  const client = life.client();
  const puts = BIG.map((key) => client.put('Q', bodyOf(key)));
  const takes = BIG.map(() => client.take('Q'));
  await Promise.all(puts);
  expect((await Promise.all(takes)).map((data) => (data === null ? null : keyOf(data)))).toEqual(BIG);
});

/** Puts until the space is full; the keys that were taken. */
async function fill(client: EngineClient, ledger: Ledger): Promise<void> {
  for (let refused = 0; refused < 5;) {
    const items = Array.from({ length: 50 }, () => ledger.putting('Q', 's', 1500));
    const ends = await Promise.allSettled(items.map((item) => client.put('Q', bodyOf(item.key))));
    for (const [i, end] of ends.entries()) {
      const item = items[i] as Item;
      if (end.status === 'fulfilled') item.acknowledged();
      else {
        item.refused();
        refused++;
        expect(String(end.reason)).toContain(`diagnostic ${QME.QMENOSPACE}`);
      }
    }
  }
}

test('a full log refuses enqueues, and gives, takes back, commits and starts again', async () => {
  const ledger = new Ledger();
  const prng = new Prng(5);
  const options = { prng, queues: ['Q'], treason: 'none', limitBytes: 8 * SEGMENT_BYTES } as const;
  let life = await EngineLife.open({ ...options, disk: new MemoryDisk() });
  await fill(life.client(), ledger);
  const { live } = life.engine.space.messages;
  expect(live).toBeGreaterThan(100);
  for (let round = 0; round < 4; round++) {
    life.cut();
    life = await EngineLife.open({ ...options, disk: life.disk });
    const client = life.client();
    // Taking everything and giving it back needs a record each: what there is no room for is not counted, and nothing is lost.
    checkAndSettle(ledger, await readAll(client, ['Q'], true));
    const transaction = await client.begin();
    const entry = ledger.begin();
    for (let i = 0; i < live / 8; i++) entry.took(keyOf(await transaction.take('Q')));
    entry.committing();
    await transaction.commit();
    entry.committed();
    for (let i = 0; i < live / 16; i++) ledger.taken(keyOf(await client.take('Q')));
  }
  const rest = await readAll(life.client(), ['Q'], false);
  checkAndSettle(ledger, rest);
  expect(life.engine.space.messages.live).toBe(0);
});
