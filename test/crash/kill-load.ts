// What the kill tests share: the clients that put a real daemon under load, and the check of its contents against their ledger.
import { expect } from 'vitest';
import type { Context } from '../../clients/typescript/index.ts';
import { Prng } from '../../src/base/prng.ts';
import type { TestDaemon } from '../support/daemon.ts';
import { checkAndSettle } from '../support/ledger-check.ts';
import { type Contents, Ledger } from '../support/ledger.ts';
import { readAll, tookAll } from './contents.ts';
import * as load from './load.ts';
import { sdkCalls } from './sdk-calls.ts';

export const ERROR_QUEUE = 'ERRQ';
export const PLACES = [...load.QUEUES, ERROR_QUEUE];
/** Above this many messages the queues are emptied after a restart. */
const MANY = 3000;

export interface Run {
  readonly daemon: TestDaemon;
  readonly ledger: Ledger;
  readonly prng: Prng;
}

export function newLedger(): Ledger {
  return new Ledger({ errorQueue: ERROR_QUEUE, neverRolledBack: ['PLAIN'] });
}

/** `began` resolves when the load has begun to be answered; `turns` counts what the clients did. */
export function startClients(
  contexts: readonly Context[],
  { ledger, prng, round }: { ledger: Ledger; prng: Prng; round: number },
): { work: Promise<unknown>; began: Promise<void>; turns: () => number } {
  const start = new Beginning();
  const client = (name: string, waitMs = 20): load.Client => ({
    name: `${name}${round}`,
    calls: sdkCalls(contexts[prng.below(contexts.length)] as Context, { waitMs }),
    prng: new Prng(prng.u32()),
    ledger,
    until: () => start.next(name),
    bytes: bodyBytes,
  });
  const work = Promise.all([
    load.putPlainly(client('put1-'), 'PLAIN'),
    load.putPlainly(client('put2-'), 'WORK'),
    load.putPipelined(client('pipe1-'), 'PLAIN', 8),
    load.putPipelined(client('pipe2-'), 'WORK', 12),
    load.transfer(client('move1-', 0), { from: 'WORK', to: ['LEFT', 'RIGHT'] }),
    load.transfer(client('move2-', 0), { from: 'LEFT', to: ['RIGHT', 'WORK'] }),
    load.putPipelinedInTransactions(client('batch-'), ['LEFT', 'WORK', 'LEFT']),
    load.consumePlainly(client('take1-'), 'PLAIN'),
    load.consumePlainly(client('take2-'), 'PLAIN', 6),
    load.consumeInTransactions(client('work1-'), 'RIGHT'),
    load.consumeInTransactions(client('work2-', 0), 'LEFT'),
    load.consumeInTransactions(client('work3-', 0), 'WORK'),
  ]);
  return { work, began: start.reached, turns: () => start.turns };
}

/** The load has begun when one client comes back for its second turn. */
class Beginning {
  readonly reached: Promise<void>;
  turns = 0;
  private readonly seen = new Set<string>();
  private resolve: () => void = () => {};

  constructor() {
    this.reached = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  /** Asked by every client before each turn; never says stop. */
  next(name: string): boolean {
    this.turns++;
    if (this.seen.has(name)) this.resolve();
    this.seen.add(name);
    return false;
  }
}

/** Mostly small; some above the sizes from which bodies travel in other ways. */
function bodyBytes(prng: Prng): number {
  const kind = prng.below(40);
  if (kind === 0) return prng.between(60_000, 200_000);
  if (kind < 3) return prng.between(30_000, 40_000);
  return prng.between(20, 1500);
}

/** Reads everything as a client, checks it, and now and then takes it all away. */
export async function checkContents({ daemon, ledger, prng }: Run, about: string): Promise<void> {
  const context = await daemon.connect();
  const calls = sdkCalls(context, { waitMs: 0 });
  const contents = await readAll(calls, PLACES, true);
  checkAndSettle(ledger, contents, `${about}\n${daemon.stderr}`);
  const found = countOf(contents);
  // Nothing is hidden: what the daemon counts is what could be read.
  const [space] = (await context.stat()).spaces;
  expect(space?.messages, about).toBe(found);
  if (found > MANY || prng.oneIn(3)) {
    const taken = await readAll(calls, PLACES, false);
    tookAll(ledger, taken);
    expect(countOf(taken), about).toBe(found);
  }
  await context.tpterm();
}

function countOf(contents: Contents): number {
  return [...contents.values()].reduce((sum, keys) => sum + keys.length, 0);
}
