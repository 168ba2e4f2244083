// A fixed piece of work on an engine in this process, with a ledger of what was answered: enqueues, dequeues, commits, rollbacks, checkpoints,
// as much of each that the log is reclaimed. Whatever fails is entered into the ledger and the work goes on until the log is dead. The
// same seed makes the same calls of the disk, so that each of them can be made to fail.
import { CallFailure, type QueueCalls } from '../crash/calls.ts';
import { bodyOf, keyOf } from '../support/ledger-body.ts';
import type { Item, Ledger, LedgerTransaction } from '../support/ledger.ts';
import type { EngineClient } from './engine-calls.ts';
import { type EngineLife, turn } from './engine-life.ts';

export const SCRIPT_QUEUES = ['A', 'B'];
/** How many calls a client has under way at a time. */
const WIDTH = 10;
/** Turns of the loop in which what was begun must have ended; the faulty disk takes at most a few for a call. */
const TURNS = 3000;
/** A full disk is tried again by the clock. */
const STEP_MS = 50;

export class Script {
  readonly ledger: Ledger;
  private readonly life: EngineLife;
  private readonly client: EngineClient;
  private readonly stream: string;

  constructor(life: EngineLife, ledger: Ledger, stream: string) {
    this.life = life;
    this.ledger = ledger;
    this.client = life.client();
    this.stream = stream;
  }

  /** All of it; with 64 KiB to a segment some are freed, recycled and deleted. Two checkpoints replace the one before. */
  async run(): Promise<void> {
    await this.put('A', 60, 1500);
    await this.move(6);
    await this.giveBack(4);
    await this.checkpoint();
    await this.take('A', 40);
    await this.put('B', 30, 6000);
    await this.take('B', 25);
    await this.put('A', 2, 70_000);
    await this.take('A', 10);
    await this.checkpoint();
    await this.put('B', 20, 300);
    await this.take('B', 5);
  }

  async put(queue: string, count: number, bytes: number): Promise<void> {
    for (let left = count; left > 0 && this.isAlive; left -= WIDTH) {
      const items = Array.from({ length: Math.min(left, WIDTH) }, () =>
        this.ledger.putting(queue, `${this.stream}-${queue}`, bytes),
      );
      await this.ending(Promise.all(items.map((item) => this.putOne(this.client, item))));
    }
  }

  /** Outside transactions, one call after the other. */
  async take(queue: string, count: number): Promise<void> {
    for (let left = count; left > 0 && this.isAlive; left--) {
      const [end] = await this.ending(Promise.allSettled([this.client.take(queue)]));
      if (end.status === 'fulfilled' && end.value !== null) this.ledger.taken(keyOf(end.value));
      else if (end.status === 'rejected' && failureOf(end.reason).outcome === 'unknown')
        this.ledger.takeUnknown(queue);
    }
  }

  /** From A to B, committed. */
  async move(count: number): Promise<void> {
    await this.inTransaction(async (calls, transaction) => {
      for (let i = 0; i < count; i++) {
        const data = await calls.take('A');
        if (data === null) break;
        transaction.took(keyOf(data));
        const item = this.ledger.putting('B', `${this.stream}-moved`, 400);
        transaction.putting(item);
        await calls.put('B', bodyOf(item.key));
      }
      return true;
    });
  }

  /** Taken from A, and rolled back. */
  async giveBack(count: number): Promise<void> {
    await this.inTransaction(async (calls, transaction) => {
      for (let i = 0; i < count; i++) {
        const data = await calls.take('A');
        if (data !== null) transaction.took(keyOf(data));
      }
      return false;
    });
  }

  async checkpoint(): Promise<void> {
    if (this.isAlive) await this.ending(this.life.engine.checkpoint());
  }

  /** Until nothing more is being prepared. */
  async idle(): Promise<void> {
    for (let left = TURNS; left > 0 && this.life.engine.journal.roomComing() !== null; left--) await turn();
  }

  /** Fails when it does not end: nobody is left without an answer. */
  async ending<T>(work: Promise<T>): Promise<T> {
    const state = { ended: false };
    const note = (): void => {
      state.ended = true;
    };
    work.then(note, note);
    for (let left = TURNS; left > 0 && !state.ended; left--) {
      this.life.clock.advance(STEP_MS);
      await turn();
    }
    if (!state.ended) throw new Error(`${this.stream}: a call was not answered`);
    return await work;
  }

  private get isAlive(): boolean {
    return this.life.engine.journal.failure === null;
  }

  private async putOne(calls: QueueCalls, item: Item): Promise<void> {
    try {
      await calls.put(item.queue, bodyOf(item.key));
      item.acknowledged();
    } catch (error) {
      if (failureOf(error).outcome === 'unknown') item.unknown();
      else item.refused();
    }
  }

  /** `work` says whether to commit. */
  private async inTransaction(
    work: (calls: QueueCalls, transaction: LedgerTransaction) => Promise<boolean>,
  ): Promise<void> {
    if (!this.isAlive) return;
    const calls = await this.client.begin();
    const transaction = this.ledger.begin();
    const [done] = await this.ending(Promise.allSettled([work(calls, transaction)]));
    if (done.status === 'rejected') failureOf(done.reason);
    if (done.status === 'rejected' || !done.value) {
      transaction.aborting();
      await this.ending(Promise.allSettled([calls.abort()]));
      transaction.rolledBack();
      return;
    }
    transaction.committing();
    const [commit] = await this.ending(Promise.allSettled([calls.commit()]));
    if (commit.status === 'fulfilled') transaction.committed();
    else if (failureOf(commit.reason).outcome === 'unknown') transaction.unknown();
    else transaction.rolledBack();
  }
}

function failureOf(error: unknown): CallFailure {
  if (error instanceof CallFailure) return error;
  throw error;
}
