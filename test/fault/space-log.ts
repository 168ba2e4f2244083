// A queue space's log as the engine writes it, operation by operation, on a memory disk: with each operation the frames it wrote are known,
// so that a test can say what must be there when some of them are lost.
import { Prng } from '../../src/base/prng.ts';
import { keyOf, bodyOf } from '../support/ledger-body.ts';
import { readAll } from '../crash/contents.ts';
import { EngineLife, turn } from './engine-life.ts';
import { MemoryDisk } from './faulty-file-io.ts';
import { framesOf, type FoundFrame } from './frames.ts';

export const QUEUES = ['ONE', 'TWO'];

export interface Operation {
  readonly kind: 'put' | 'take' | 'transfer';
  /** What it put or took; a transfer takes the first and puts the second. */
  readonly keys: readonly string[];
  readonly queues: readonly string[];
  /** Positions of its frames. */
  readonly frames: readonly number[];
}

export interface SpaceLog {
  readonly disk: MemoryDisk;
  readonly operations: readonly Operation[];
  readonly frames: readonly FoundFrame[];
}

/** Two lives of a space with `count` operations each, one batch an operation. */
export async function writeSpaceLog(seed: number, count: number): Promise<SpaceLog> {
  const prng = new Prng(seed);
  const disk = new MemoryDisk();
  const operations: Operation[] = [];
  for (let life = 0; life < 2; life++) {
    const opened = await EngineLife.open({ disk, prng, queues: QUEUES, treason: 'none' });
    const client = opened.client();
    let known = framesOf(disk).length;
    for (let i = 0; i < count; i++) {
      const done = await withTime(opened, operate(client, { prng, name: `op${life}/${i}` }));
      const frames = framesOf(disk).slice(known);
      known += frames.length;
      const positions = frames.filter(({ header }) => header.kind === 'data').map(({ header }) => header.pos);
      if (done !== null) operations.push({ ...done, frames: positions });
    }
    await opened.stopCleanly(4);
  }
  return { disk, operations, frames: framesOf(disk) };
}

/** Time goes on until it is done. */
async function withTime<T>(life: EngineLife, work: Promise<T>): Promise<T> {
  let isDone = false;
  const settled = work.finally(() => (isDone = true));
  while (!isDone) {
    life.clock.advance(5);
    await turn();
  }
  return settled;
}

type Client = ReturnType<EngineLife['client']>;

async function operate(
  client: Client,
  { prng, name }: { prng: Prng; name: string },
): Promise<Omit<Operation, 'frames'> | null> {
  const bytes = prng.oneIn(12) ? prng.between(60_000, 100_000) : prng.between(40, 3000);
  const key = `${name.replace('/', '-')}/0/${bytes}`;
  const [from, to] = prng.oneIn(2) ? ['ONE', 'TWO'] : ['TWO', 'ONE'];
  if (prng.oneIn(2)) {
    await client.put(from, bodyOf(key));
    return { kind: 'put', keys: [key], queues: [from] };
  }
  if (prng.oneIn(2)) {
    const data = await client.take(from);
    return data === null ? null : { kind: 'take', keys: [keyOf(data)], queues: [from] };
  }
  const work = await client.begin();
  const data = await work.take(from);
  await work.put(to, bodyOf(key));
  await work.commit();
  if (data === null) return { kind: 'put', keys: [key], queues: [to] };
  return { kind: 'transfer', keys: [keyOf(data), key], queues: [from, to] };
}

/** What is queued when these operations, and only these, took effect. */
export function contentsAfter(operations: readonly Operation[]): Map<string, string[]> {
  const contents = new Map<string, string[]>(QUEUES.map((queue) => [queue, []]));
  for (const { kind, keys, queues } of operations) {
    const [first = '', second = ''] = keys;
    const [from = '', to = ''] = queues;
    if (kind !== 'put')
      contents.set(
        from,
        (contents.get(from) ?? []).filter((key) => key !== first),
      );
    if (kind === 'put') contents.get(from)?.push(first);
    if (kind === 'transfer') contents.get(to)?.push(second);
  }
  return contents;
}

/** Opens the log as a daemon does and reads it as a client does. */
export async function contentsOf(disk: MemoryDisk): Promise<Map<string, string[]>> {
  const life = await EngineLife.open({ disk, prng: new Prng(1), queues: QUEUES, treason: 'none' });
  const contents = await withTime(life, readAll(life.client(), QUEUES, true));
  await life.stopCleanly(2);
  return new Map([...contents].map(([queue, keys]) => [queue, [...keys]]));
}
