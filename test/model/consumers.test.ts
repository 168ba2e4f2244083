// Multi-consumer bookkeeping against a naive model, with large and small transactions, restarts from the log and from checkpoints, delays,
// expiry, retries and retention [oracle-aq 6.4]. TMQUEUE_CONSUMERS=n does n runs; a failure names its seed.
import { expect, test } from 'vitest';
import { MODE } from '../../src/engine/aq/scan.ts';
import type { Work } from '../../src/engine/request.ts';
import { Prng } from '../../src/base/prng.ts';
import { QME } from '../../proto/codes.ts';
import { REASON, ROLLED_BACK } from '../../src/queue/provenance.ts';
import { AqBench } from '../support/aq-bench.ts';
import { times } from '../support/depth.ts';
import { ConsumersModel } from './consumers-model.ts';

const CONSUMERS = ['RED', 'BLUE', 'GREEN'];
const STEPS = 120;
const NO_MESSAGE = 'fault 25228';
const MANY = 1000;

class Run {
  private readonly prng: Prng;
  private readonly model: ConsumersModel;
  private readonly bench = new AqBench();
  private readonly rules;
  private readonly works = new Map<number, Work>();
  private readonly isReading: boolean;
  private serial = 0;

  constructor(seed: number) {
    this.prng = new Prng(seed);
    this.isReading = seed % 2 === 0;
    const pick = (values: readonly number[]): number => values[this.prng.below(values.length)] as number;
    this.rules = { retries: pick([0, 1, 2]), retryDelayS: pick([0, 3]), retentionS: pick([0, 20]) };
    this.model = new ConsumersModel(this.rules);
  }

  async all(): Promise<void> {
    const { bench, rules, prng } = this;
    await bench.open();
    const { retries, retryDelayS: delayS, retentionS } = rules;
    bench.table('T', { multipleConsumers: true }, { retries, delayS, retentionS });
    for (const name of CONSUMERS) bench.subscriber('TQ', name);
    await bench.settle();
    this.hideBodies();
    for (let i = 0; i < STEPS; i++) {
      await this.step(prng.below(100));
      await bench.settle();
      await this.compare();
    }
    for (const number of Array.from(this.works.keys())) this.commit(number);
    await bench.settle();
    await this.pass(100);
    for (const name of CONSUMERS) await this.drain(name);
    while (this.model.exceptions.length > 0) await this.takeException();
    await this.pass(100);
    const { messages, liveBytes, groups } = bench.engine.space;
    expect([messages.live, liveBytes, groups.size]).toEqual([0, 0, 0]);
  }

  private async step(dice: number): Promise<void> {
    const { bench, model, prng } = this;
    if (dice < 35) return this.put();
    if (dice < 65) return this.get();
    if (dice < 75) return this.withWork((number) => this.commit(number));
    if (dice < 85) return this.withWork((number) => this.rollback(number));
    if (dice < 90) return this.pass(1 + prng.below(4));
    if (dice < 94) return this.takeException();
    if (dice < 97) {
      const checkpoint = bench.engine.checkpoint();
      for (let i = 0; i < 30; i++) await bench.turn();
      await checkpoint;
    }
    this.works.clear();
    model.restart();
    await bench.crash(prng.below(2) === 0);
    return this.hideBodies();
  }

  /** Every other run reads its messages from the log. */
  private hideBodies(): void {
    if (this.isReading) this.bench.readFromLog();
  }

  private put(): void {
    const { prng, bench, model } = this;
    const label = `m${++this.serial}`;
    const to = prng.below(3) === 0 ? [CONSUMERS[prng.below(3)] as string] : CONSUMERS;
    const delayS = prng.below(3) === 0 ? 2 : 0;
    const expirationS = prng.below(3) === 0 ? 5 : -1;
    const number = this.someWork();
    const work = this.works.get(number);
    bench.putAq('TQ', label, { to, delayS, expirationS, ...(work === undefined ? {} : { work }) });
    model.put(label, { to, delayS, expirationS, work: number });
  }

  private async get(): Promise<void> {
    const { prng, bench, model } = this;
    const consumer = CONSUMERS[prng.below(3)] as string;
    const number = this.someWork();
    const work = this.works.get(number);
    const answer = await bench.get('TQ', { consumer, ...(work === undefined ? {} : { work }) });
    expect(answer).toBe(model.get(consumer, number) ?? NO_MESSAGE);
  }

  /** 0: none; else one that is open, or a new one. */
  private someWork(): number {
    const { prng, works, bench } = this;
    if (prng.below(3) === 0) return 0;
    const open = [...works.keys()];
    if (open.length > 2) return open[prng.below(open.length)] as number;
    works.set(++this.serial, bench.engine.openWork());
    return this.serial;
  }

  private withWork(act: (number: number) => void): void {
    const open = [...this.works.keys()];
    if (open.length > 0) act(open[this.prng.below(open.length)] as number);
  }

  private commit(number: number): void {
    this.bench.engine.commit(this.works.get(number) as Work);
    this.works.delete(number);
    this.model.commit(number);
  }

  private rollback(number: number): void {
    const isLost = this.prng.below(3) === 0;
    const work = this.works.get(number) as Work;
    if (isLost)
      this.bench.engine.rollback(work, QME.QMEABORTED, { ...ROLLED_BACK, reason: REASON.DISCONNECT });
    else this.bench.engine.rollback(work, QME.QMEABORTED);
    this.works.delete(number);
    this.model.rollback(number, !isLost);
  }

  private pass(seconds: number): Promise<void> {
    this.model.pass(seconds);
    return this.bench.pass(seconds);
  }

  private async takeException(): Promise<void> {
    const { exceptions } = this.model;
    const answer = (await this.bench.get('AQ$_T_E')) ?? '';
    if (exceptions.length === 0) return expect(answer).toBe(NO_MESSAGE);
    expect(exceptions).toContain(answer);
    exceptions.splice(exceptions.indexOf(answer), 1);
    return undefined;
  }

  private async drain(consumer: string): Promise<void> {
    for (;;) {
      const expected = this.model.get(consumer, 0);
      expect(await this.bench.get('TQ', { consumer })).toBe(expected ?? NO_MESSAGE);
      if (expected === null) return;
    }
  }

  private async compare(): Promise<void> {
    const { bench, model } = this;
    for (const consumer of CONSUMERS) {
      const seen = await bench.get('TQ', { consumer, mode: MODE.BROWSE, size: MANY });
      expect(seen === NO_MESSAGE ? [] : seen?.split(' '), consumer).toEqual(model.seen(consumer));
    }
    const exceptions = await bench.get('AQ$_T_E', { mode: MODE.BROWSE, size: MANY });
    const moved = exceptions === NO_MESSAGE ? [] : exceptions?.split(' ');
    expect(moved?.toSorted(), 'exceptions').toEqual(model.exceptions.toSorted());
    if (this.works.size === 0) expect(bench.engine.space.messages.live).toBe(model.rows());
  }
}

const RUNS = times('TMQUEUE_CONSUMERS', { inTest: 25, inCi: 100 });

test.each(Array.from({ length: RUNS }, (_, i) => i + 1))('seed %i', async (seed) => {
  await new Run(seed).all();
});
