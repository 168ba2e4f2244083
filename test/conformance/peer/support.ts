// What the peer scenarios share: a test that has its name from the list, numbers in order, and what is on a queue.
import { it } from 'vitest';
import { type Context, TPQ } from '../../../clients/typescript/index.ts';
import { eventually, type InProcess } from '../../support/in-process.ts';
import { type Members, SPACE } from '../q/support.ts';
import { SCENARIOS } from './scenarios.ts';

export interface ScenarioOptions {
  /** Behind the name, for a scenario with several tests. */
  readonly detail?: string;
  readonly timeoutMs?: number;
}

/** The test of a scenario, by its name. */
export function scenario(
  id: string,
  run: () => Promise<unknown>,
  { detail = '', timeoutMs = 120_000 }: ScenarioOptions = {},
): void {
  const entry = SCENARIOS[id];
  if (entry === undefined || entry.noMeaning !== undefined) throw new Error(`${id} is not to be tested`);
  const title = `${id} ${entry.name}${detail === '' ? '' : `: ${detail}`}`;
  const test = async (): Promise<void> => void (await run());
  it(title, test, timeoutMs);
}

export const up = (from: number, to: number, step = 1): number[] =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, i) => from + i * step);
export const down = (from: number, to: number, step = 1): number[] => up(to, from, step).toReversed();

export const corrid = (n: number): Members => ({ flags: TPQ.TPQCORRID, corrid: `corrid ${n}` });
export const byCorrid = (n: number): Members => ({ flags: TPQ.TPQGETBYCORRID, corrid: `corrid ${n}` });

/** How many messages each queue holds, locked and delayed ones too. */
export async function messagesOf(
  daemon: InProcess,
  queues: readonly string[],
  qspace = SPACE,
): Promise<number[]> {
  return Promise.all(queues.map(async (queue) => (await daemon.queue(queue, qspace)).messages));
}

/** Waits until a queue is empty: also nothing locked or delayed. */
export async function emptied(
  daemon: InProcess,
  queue: string,
  { qspace = SPACE, withinMs = 100_000 } = {},
): Promise<void> {
  await eventually(async () => (await daemon.queue(queue, qspace)).messages === 0, withinMs);
}

/** In increasing order, for what may come in any. */
export function sorted(values: readonly unknown[]): number[] {
  return values.map(Number).toSorted((a, b) => a - b);
}

/** One transaction around `work`, committed. */
export async function inTransaction<R>(
  ctx: Context,
  work: (ctx: Context) => Promise<R>,
  timeoutS = 600,
): Promise<R> {
  await ctx.tpbegin(timeoutS);
  const result = await work(ctx);
  await ctx.tpcommit();
  return result;
}
