// Lanes of agents that are named as recipients and do not subscribe: there as long as something is on them [oracle-aq 4.1].
import { expect, it } from 'vitest';
import { laneOf, ruleFailures, subscribersFor, sweepLanes } from '../../src/aq/operations/lanes.ts';
import { subjectOf } from '../../src/aq/operations/subject.ts';
import type { Queue } from '../../src/queue/queue.ts';
import { AqBench } from '../support/aq-bench.ts';

async function bench(): Promise<AqBench> {
  const made = new AqBench();
  await made.open();
  made.table('T', { multipleConsumers: true });
  made.subscriber('TQ', 'RED');
  await made.settle();
  return made;
}

function stranger(b: AqBench, name: string): Queue {
  const lane = laneOf(b.engine, b.queueOf('TQ'), { name, address: '', protocol: 0 });
  if (lane === 'later' || 'fault' in lane) throw new Error('it was refused');
  return lane;
}

function names(b: AqBench): string[] {
  return [...(b.queueOf('TQ').lanes?.keys() ?? [])].map((key) => key.split('\0')[0] ?? '');
}

it('go when they are empty, and not while a transaction has something for them', async () => {
  const b = await bench();
  stranger(b, 'EMPTY');
  stranger(b, 'FULL');
  stranger(b, 'PENDING');
  b.putAq('TQ', 'm', { to: ['FULL'] });
  const work = b.engine.openWork();
  b.putAq('TQ', 'n', { to: ['PENDING'], work });
  sweepLanes(b.engine);
  await b.settle();
  expect(names(b)).toEqual(['RED', 'FULL', 'PENDING']);
  b.engine.commit(work);
  await b.settle();
  await b.crash(true);
  expect(await b.get('TQ', { consumer: 'PENDING' })).toBe('n');
  expect(await b.get('TQ', { consumer: 'FULL' })).toBe('m');
  sweepLanes(b.engine);
  await b.settle();
  expect(names(b)).toEqual(['RED']);
});

it('of subscribers are found by rule; one that cannot be evaluated does not match, and is counted', async () => {
  const b = await bench();
  const lane = b.laneOf('TQ', 'RED');
  const { attributes } = lane;
  const consumer = attributes.aq?.consumer ?? null;
  if (attributes.aq === null || consumer === null) throw new Error('no consumer');
  const aq = { ...attributes.aq, consumer: { ...consumer, rule: 'priority < 3' } };
  b.engine.define({ kind: 'defineQueue', attributes: { ...attributes, aq } });
  const found = (priority: number): number =>
    subscribersFor(
      b.queueOf('TQ'),
      subjectOf({ enqueuedMs: 0, priority }, { type: '', data: null, kind: 1 }),
      1,
    ).length;
  expect([found(2), found(3)]).toEqual([1, 0]);
  const broken = { ...attributes.aq, consumer: { ...consumer, rule: 'priority / 0 = 1' } };
  b.engine.define({ kind: 'defineQueue', attributes: { ...attributes, aq: broken } });
  expect([found(2), ruleFailures(lane)]).toEqual([0, 1]);
  // Buffered messages are not for it.
  expect(subscribersFor(b.queueOf('TQ'), { property: () => null, payload: () => null }, 4)).toEqual([]);
});
