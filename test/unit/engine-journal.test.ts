// The rule that nothing leaves before what it depends on is durable, on a log whose syncs the test holds back.
import { describe, expect, it } from 'vitest';
import { QME } from '../../proto/codes.ts';
import { openSpace } from '../../src/engine/open-space.ts';
import type { StoredMessage } from '../../src/engine/message-record.ts';
import {
  DequeueRequest,
  type BatchNumber,
  type Failure,
  type Held,
  type Work,
} from '../../src/engine/request.ts';
import type { SpaceEngine } from '../../src/engine/space-engine.ts';
import { openMemoryLog, type MemoryLog, type MemoryLogOptions } from '../../src/wal/memory/memory-log.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { properties, queueAttributes } from '../support/queue-values.ts';

const ulog = { info: () => {}, warn: () => {}, error: () => {} };

interface Bench {
  log: MemoryLog;
  engine: SpaceEngine;
  clock: ManualClock;
  /** Lets the loop's turn end, and promises settle. */
  turn: () => Promise<void>;
}

async function bench(options: Partial<MemoryLogOptions> = {}): Promise<Bench> {
  const clock = new ManualClock();
  const log = openMemoryLog({ clock, ...options });
  return { log, clock, ...(await reopen(log, clock)) };
}

async function reopen(log: MemoryLog, clock: ManualClock): Promise<Pick<Bench, 'engine' | 'turn'>> {
  let due: (() => void)[] = [];
  const soon = (run: () => void): void => void due.push(run);
  const engine = await openSpace(log, new AbortController().signal, {
    clock,
    ulog,
    soon,
    runCommand: () => {},
  });
  const turn = async (): Promise<void> => {
    const runs = due;
    due = [];
    for (const run of runs) run();
    for (let i = 0; i < 10; i++) await Promise.resolve();
  };
  engine.define({ kind: 'defineQueue', attributes: queueAttributes('Q', { retries: 3 }) });
  await turn();
  return { engine, turn };
}

class Probe implements Held {
  state = 'held';
  released(): void {
    this.state = 'released';
  }
  failed(): void {
    this.state = 'failed';
  }
}

class Take extends DequeueRequest {
  readonly qname = 'Q';
  readonly selection = { msgid: null, corrid: null };
  readonly work: Work | null;
  readonly deadlineMs = Infinity;
  readonly timeoutFailure = QME.QMENOMSG;
  readonly peek: boolean;
  readonly wait: boolean;
  got: { data: string; batch: BatchNumber } | null = null;
  failure: Failure | null = null;
  batch: BatchNumber = 0;
  constructor(kind: 'take' | 'peek' | 'wait', work: Work | null = null) {
    super();
    this.work = work;
    this.peek = kind === 'peek';
    this.wait = kind === 'wait';
  }
  accepts(): boolean {
    return true;
  }
  taken(message: StoredMessage, batch: BatchNumber): void {
    this.got = { data: Buffer.from(message.data ?? []).toString(), batch };
    this.batch = batch;
  }
  refused(failure: Failure, batch: BatchNumber): void {
    this.failure = failure;
    this.batch = batch;
  }
}

function put(engine: SpaceEngine, data: string): BatchNumber {
  const outcome = engine.enqueue({
    qname: 'Q',
    properties: properties({}),
    terms: null,
    data: Buffer.from(data),
    work: null,
  });
  expect(outcome.code).toBe(QME.OK);
  return outcome.batch;
}
function ask(engine: SpaceEngine, kind: 'take' | 'peek' | 'wait', work: Work | null = null): Take {
  const take = new Take(kind, work);
  engine.dequeue(take);
  return take;
}
function held(engine: SpaceEngine, batch: BatchNumber): Probe {
  const probe = new Probe();
  engine.hold(batch, probe);
  return probe;
}

describe('what leaves', () => {
  it('an enqueue leaves with its own batch, and a later one with the next', async () => {
    const { log, engine, turn } = await bench();
    log.holdSyncs();
    const first = held(engine, put(engine, 'one'));
    await turn();
    const second = held(engine, put(engine, 'two'));
    await turn();
    expect([first.state, second.state]).toEqual(['held', 'held']);
    log.releaseSyncs();
    await turn();
    expect(first.state).toBe('released');
    await turn();
    expect(second.state).toBe('released');
  });

  it('a peek waits for the batch that brought the message, an empty queue for the one that emptied it', async () => {
    const { log, engine, turn } = await bench();
    log.holdSyncs();
    put(engine, 'one');
    await turn();
    const peek = held(engine, ask(engine, 'peek').batch);
    const taken = ask(engine, 'take');
    const nothing = ask(engine, 'take');
    expect(nothing.failure).toBe(QME.QMENOMSG);
    const answers = [peek, held(engine, taken.batch), held(engine, nothing.batch)];
    await turn();
    expect(answers.map((answer) => answer.state)).toEqual(['held', 'held', 'held']);
    log.releaseSyncs();
    await turn();
    await turn();
    expect(answers.map((answer) => answer.state)).toEqual(['released', 'released', 'released']);
  });

  it('a read of a queue that nothing is pending for leaves at once', async () => {
    const { log, engine, turn } = await bench();
    engine.define({ kind: 'defineQueue', attributes: queueAttributes('OTHER') });
    await turn();
    log.holdSyncs();
    put(engine, 'busy elsewhere');
    const other = new (class extends Take {
      override readonly qname = 'OTHER' as 'Q';
    })('take');
    engine.dequeue(other);
    expect(other.failure).toBe(QME.QMENOMSG);
    expect(held(engine, other.batch).state).toBe('released');
  });

  it('a message that is durable leaves at once for a transaction, whatever else its queue waits for', async () => {
    const { log, engine, turn } = await bench();
    put(engine, 'one');
    await turn();
    log.holdSyncs();
    put(engine, 'two');
    const work = engine.openWork();
    const old = ask(engine, 'take', work);
    const fresh = ask(engine, 'take', work);
    expect([old.got?.data, fresh.got?.data]).toEqual(['one', 'two']);
    const answers = [held(engine, old.batch), held(engine, fresh.batch)];
    await turn();
    expect(answers.map((answer) => answer.state)).toEqual(['released', 'held']);
    log.releaseSyncs();
    await turn();
    expect(answers[1]!.state).toBe('released');
  });

  it('and not before the count of the attempt that a rollback took is durable', async () => {
    const { log, engine, turn } = await bench();
    put(engine, 'one');
    await turn();
    log.holdSyncs();
    const work = engine.openWork();
    expect(held(engine, ask(engine, 'take', work).batch).state).toBe('released');
    engine.rollback(work, QME.QMEABORTED);
    const again = ask(engine, 'take', engine.openWork());
    expect(again.got?.data).toBe('one');
    const answer = held(engine, again.batch);
    await turn();
    expect(answer.state).toBe('held');
    log.releaseSyncs();
    await turn();
    expect(answer.state).toBe('released');
  });

  it('a waiter gets the message in the batch of its enqueue, and the message is gone after a crash only if that was durable', async () => {
    const { log, engine, turn, clock } = await bench();
    const waiter = ask(engine, 'wait');
    log.holdSyncs();
    const batch = put(engine, 'one');
    expect(waiter.got).toEqual({ data: 'one', batch });
    const answer = held(engine, waiter.batch);
    await turn();
    expect(answer.state).toBe('held');
    log.crash(false);
    const after = await reopen(log, clock);
    expect(after.engine.space.messages.live).toBe(0);
    expect(answer.state).not.toBe('released');
  });
});

describe('a dead log', () => {
  it('tells everyone who waits, refuses what comes, and is rebuilt from what was durable', async () => {
    const { log, engine, turn, clock } = await bench({ faults: [{ at: 3, effect: 'append-lost' }] });
    const failures: string[] = [];
    engine.onFailure = (error) => failures.push(error.kind);
    const waiting = ask(engine, 'wait');
    const kept = put(engine, 'wakes the waiter');
    expect(waiting.got).not.toBeNull();
    await turn();
    expect(held(engine, kept).state).toBe('released');
    const parked = ask(engine, 'wait');
    const lost = held(engine, put(engine, 'x'));
    put(engine, 'y');
    await turn();
    expect(failures).toHaveLength(1);
    expect(lost.state).toBe('failed');
    expect(parked.got !== null || parked.failure === QME.QMESYSTEM).toBe(true);
    expect(ask(engine, 'take').failure).toBe(QME.QMESYSTEM);
    expect(
      engine.enqueue({ qname: 'Q', properties: properties({}), terms: null, data: null, work: null }).code,
    ).toBe(QME.QMESYSTEM);
    const after = await reopen(log, clock);
    expect(after.engine.space.messages.live).toBe(0);
  });
});

describe('room', () => {
  it('refuses an enqueue with QMENOSPACE and changes nothing; taking out goes on and makes room', async () => {
    const { engine, turn } = await bench({ roomBytes: 6000 });
    let stored = 0;
    for (;;) {
      const outcome = engine.enqueue({
        qname: 'Q',
        properties: properties({}),
        terms: null,
        data: Buffer.alloc(400),
        work: null,
      });
      if (outcome.code !== QME.OK) {
        expect(outcome).toMatchObject({ code: QME.QMENOSPACE, later: false, id: null });
        break;
      }
      stored++;
      await turn();
    }
    expect(stored).toBeGreaterThan(3);
    expect(engine.space.messages.live).toBe(stored);
    for (let i = 0; i < stored; i++) {
      const take = ask(engine, 'take');
      expect(take.got).not.toBeNull();
      await turn();
      expect(held(engine, take.batch).state).toBe('released');
    }
    expect(ask(engine, 'take').failure).toBe(QME.QMENOMSG);
  });
});
