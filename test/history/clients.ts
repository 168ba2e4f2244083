// Clients that run random transactions over a few queues and write down what they did and were told. All choices come from a seed; one client
// is a context of its own and works until its connection is gone. Must not know what becomes of the history.
import { type Context, QME, TpError, TPERRNO, tpinit, TPQ, TPQCTL } from '../../clients/typescript/index.ts';
import type { Prng } from '../../src/base/prng.ts';
import type { Operation, Transaction } from './history.ts';

/** A queue of a queue space, as the history names it: `SPACE/QUEUE`. */
export type Place = `${string}/${string}`;

/** A transaction that is being written down; `end` 'crash': the system died before its end was asked for. */
interface Draft {
  readonly name: string;
  readonly operations: Operation[];
  end: 'open' | 'asked' | 'committed' | 'aborted' | 'crash';
  ending: number;
  ended: number;
}

export class Recorder {
  private readonly drafts: Draft[] = [];
  private moments = 0;
  private keys = 0;

  now(): number {
    return this.moments++;
  }

  newKey(): string {
    return `m${this.keys++}`;
  }

  begin(name: string): Draft {
    const draft: Draft = {
      name: `${name}.${this.drafts.length}`,
      operations: [],
      end: 'open',
      ending: 0,
      ended: 0,
    };
    this.drafts.push(draft);
    return draft;
  }

  /** The system is dead: what is open has ended. */
  crashed(): void {
    const now = this.now();
    for (const draft of this.drafts)
      if (draft.end === 'open') Object.assign(draft, { end: 'crash', ending: now });
  }

  /** It is up again: what had no answer has none for good. */
  up(): void {
    const now = this.now();
    for (const draft of this.drafts) if (draft.ended === 0) draft.ended = now;
  }

  history(): Transaction[] {
    return this.drafts.map(({ name, operations, end, ending, ended }) => {
      if (end === 'open') throw new Error(`${name} never ended`);
      const outcome = end === 'asked' ? 'unknown' : end === 'committed' ? 'committed' : 'aborted';
      return { name, operations, outcome, ending, ended };
    });
  }
}

export interface ClientOptions {
  readonly address: string;
  readonly name: string;
  readonly places: readonly Place[];
  readonly prng: Prng;
  readonly recorder: Recorder;
  /** Called after each transaction; true: stop. */
  readonly enough: () => boolean;
}

/** Works until the connection is gone or it is enough. */
export async function work(options: ClientOptions): Promise<void> {
  const ctx = await tpinit({ address: options.address, reconnect: false, onError: () => undefined });
  try {
    while (!options.enough()) await transaction(ctx, options);
  } catch (error) {
    if (!isGone(error)) throw error;
  } finally {
    await ctx.tpterm();
  }
}

/** One to five operations, committed three times out of four. */
async function transaction(ctx: Context, { name, places, prng, recorder }: ClientOptions): Promise<void> {
  const draft = recorder.begin(name);
  let begun = false;
  try {
    await ctx.tpbegin(60);
    begun = true;
    for (let left = prng.between(1, 5); left > 0; left--) {
      const place = places[prng.below(places.length)] as Place;
      if (prng.oneIn(2)) await put(ctx, { place, draft, recorder, prng });
      else await take(ctx, { place, draft, recorder });
    }
  } catch (error) {
    // Nobody asked for its commit: it is rolled back, by the end of the connection when nobody else does it.
    if (draft.end === 'open') Object.assign(draft, { end: 'aborted', ending: recorder.now() });
    if (begun && !isGone(error)) await ctx.tpabort();
    throw error;
  }
  if (prng.oneIn(4)) await abort(ctx, draft, recorder);
  else await commit(ctx, draft, recorder);
}

async function put(
  ctx: Context,
  { place, draft, recorder, prng }: { place: Place; draft: Draft; recorder: Recorder; prng: Prng },
): Promise<void> {
  const [qspace, queue] = split(place);
  const key = recorder.newKey();
  draft.operations.push({ kind: 'put', queue: place, key });
  await ctx.tpenqueue(qspace, queue, null, `${key} ${'.'.repeat(prng.between(0, 2000))}`);
}

/** Takes the message in front; null: there is none. */
export async function take(
  ctx: Context,
  { place, draft, recorder }: { place: Place; draft: Draft; recorder: Recorder },
): Promise<string | null> {
  const [qspace, queue] = split(place);
  const asked = recorder.now();
  let key: string | null = null;
  try {
    const { data } = await ctx.tpdequeue(qspace, queue, new TPQCTL({ flags: TPQ.TPNOFLAGS }), null);
    key = String(data).split(' ')[0] ?? '';
  } catch (error) {
    if (!TpError.is(error) || error.diagnostic !== QME.QMENOMSG) throw error;
  }
  draft.operations.push({ kind: 'take', queue: place, key, asked, answered: recorder.now() });
  return key;
}

export async function commit(ctx: Context, draft: Draft, recorder: Recorder): Promise<void> {
  // What the crash has ended already stays so.
  if (draft.end === 'open') Object.assign(draft, { end: 'asked', ending: recorder.now() });
  try {
    await ctx.tpcommit();
    Object.assign(draft, { end: 'committed', ended: recorder.now() });
  } catch (error) {
    if (!TpError.is(error)) throw error;
    // Rolled back, and said so. Anything else that is no loss of the connection is a fault of the system.
    if (error.tperrno === TPERRNO.TPEABORT) Object.assign(draft, { end: 'aborted', ended: recorder.now() });
    else if (!isGone(error)) throw error;
  }
}

async function abort(ctx: Context, draft: Draft, recorder: Recorder): Promise<void> {
  if (draft.end === 'open') Object.assign(draft, { end: 'aborted', ending: recorder.now() });
  await ctx.tpabort();
  draft.ended = recorder.now();
}

function split(place: Place): [string, string] {
  const [qspace = '', queue = ''] = place.split('/');
  return [qspace, queue];
}

function isGone(error: unknown): boolean {
  return TpError.is(error) && (error.tperrno === TPERRNO.TPESYSTEM || error.tperrno === TPERRNO.TPETIME);
}
