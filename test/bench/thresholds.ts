// What is compared with what, and what must hold. Targets are those of PERFORMANCE.md; `required` are the thresholds that make the
// benchmark fail.
import { median, type Figures } from './figures.ts';
import { BYTES } from './own-daemon.ts';
import { PEERS, PEER_SHAPES } from './peers/peer.ts';
import { PEER } from './peers/table.ts';
import type { Round, RunName } from './round.ts';

/** Messages a second of the bare pipeline at W3 on the project's kind of machine [PERFORMANCE.md, peers]. */
const BARE_W3_TABLE = 201_000;

export interface Row {
  readonly name: RunName;
  readonly title: string;
  /** The run of the bare pipeline that its rate is divided by. */
  readonly bare?: RunName;
  readonly target: string;
  /** Where the rate is also given in MB/s. */
  readonly bodyBytes?: number;
}

export const ROWS: readonly Row[] = [
  { name: 'sync', title: 'bare sync', target: '' },
  { name: 'bare W1', title: 'bare pipeline W1', target: '' },
  { name: 'bare W2', title: 'bare pipeline W2', target: '' },
  { name: 'bare W3', title: 'bare pipeline W3', target: '135k at least' },
  { name: 'bare best', title: 'the same, best variant', target: '' },
  { name: 'bare W6', title: 'bare pipeline W6', target: '', bodyBytes: BYTES.W6 },
  { name: 'bare W7', title: 'bare pipeline W7', target: '', bodyBytes: BYTES.W7 },
  { name: 'W1', title: 'W1 enqueue, 1 x 1', bare: 'bare W1', target: '0.67 of sync; aim 0.8' },
  { name: 'W2', title: 'W2 enqueue, 32 x 1', bare: 'bare W2', target: 'aim 0.8 of bare' },
  { name: 'W3', title: 'W3 enqueue, 4 x 256', bare: 'bare W3', target: '0.3 of bare; aim 0.6, 6 us' },
  { name: 'W3 sdk', title: 'W3 through the SDK', bare: 'bare W3', target: '' },
  { name: 'W4', title: 'W4 drain, 8 x 64', bare: 'bare W3', target: 'aim 80k' },
  { name: 'W5', title: 'W5 end to end, 8 + 8', bare: 'bare W3', target: 'aim 8k, p50 1.3 ms' },
  { name: 'W6', title: 'W6 = W3 with 4 KiB', bare: 'bare W6', target: 'aim 200 MB/s', bodyBytes: BYTES.W6 },
  { name: 'W7', title: 'W7 = W3 with 64 KiB', bare: 'bare W7', target: 'aim 250 MB/s', bodyBytes: BYTES.W7 },
  { name: 'W8', title: 'W8 backlog, filled', bare: 'bare W3', target: '' },
  { name: 'W9', title: 'W9 transactions, 8 x 16', bare: 'bare W3', target: 'aim 25k' },
  { name: 'W10', title: 'W10 forwarding, MIN=8', bare: 'bare W3', target: 'aim 8k' },
  { name: 'W10 of 101', title: 'the same, 100 empty in -q', bare: 'bare W3', target: '' },
  { name: 'W11 alone', title: 'W11, nothing else queued', bare: 'bare W3', target: '' },
  { name: 'W11', title: 'W11 by corrid, 200 wait', bare: 'bare W3', target: 'aim p99 10 ms' },
];

/** The rows of what was run, those of other systems behind ours of the same workload. */
export function rowsOf(medians: Partial<Record<RunName, Figures>>): Row[] {
  return ROWS.flatMap((row) => [row, ...peerRows(row)]).filter(({ name }) => medians[name] !== undefined);
}

function peerRows({ name, ...row }: Row): Row[] {
  const shape = PEER_SHAPES.find((one) => one === name);
  if (shape === undefined) return [];
  return PEERS.map((peer) => ({ ...row, name: `${shape} ${peer}`, title: `  ${peer}`, target: '' }));
}

/** Our rate divided by that of each other system that was run, a line for each of those. */
export function besidePeers(rounds: readonly Round[]): string[] {
  return PEERS.flatMap((peer) => {
    const times = PEER_SHAPES.flatMap((shape) => {
      const value = ratio(rounds, shape, `${shape} ${peer}`);
      return Number.isNaN(value) ? [] : [`${shape} ${value.toFixed(2)}`];
    });
    if (times.length === 0) return [];
    return [`Our rate, of that of ${peer} (${PEER[peer].durability}): ${times.join(', ')}`];
  });
}

const RECEIVED = 'every message received once';
const ONCE: ReadonlyMap<RunName, string> = new Map([
  ['W4', RECEIVED],
  ['W5', RECEIVED],
  ['W8', 'every message there after kill -9'],
  ['W9', 'every message there once'],
  ['W10', 'every message came back once'],
  ['W10 of 101', 'every message came back once'],
]);

export interface Verdict {
  readonly holds: boolean;
  readonly text: string;
}

/** The median over the rounds of one run's rate divided by another's of the same round; NaN when they were not run. */
export function ratio(rounds: readonly Round[], name: RunName, against: RunName): number {
  const ratios: number[] = [];
  for (const round of rounds) {
    const mine = round[name];
    const other = round[against];
    if (mine !== undefined && other !== undefined) ratios.push(mine.rate / other.rate);
  }
  return median(ratios);
}

/** Every threshold that can be judged from what was run. */
export function verdicts(rounds: readonly Round[], medians: Partial<Record<RunName, Figures>>): Verdict[] {
  const found: Verdict[] = [];
  const atLeast = (value: number, least: number, text: string) => {
    if (!Number.isNaN(value))
      found.push({ holds: value >= least, text: `${text}: ${value.toFixed(2)}, at least ${least}` });
  };
  // The round trip between two processes costs the same however fast the disk is: the bare pipeline shows how much is left of the rate.
  const pipeline = ratio(rounds, 'bare W1', 'sync').toFixed(2);
  atLeast(ratio(rounds, 'W1', 'sync'), 0.67, `W1 of the bare sync rate (the bare pipeline has ${pipeline})`);
  atLeast(ratio(rounds, 'W3', 'bare W3'), 0.3, 'W3 of the bare pipeline');
  const bare = (medians['bare W3']?.rate ?? NaN) / BARE_W3_TABLE;
  // A faster machine is no fault: what must not be is a baseline too slow to be one.
  atLeast(bare, 0.67, `the bare pipeline of the ${BARE_W3_TABLE / 1000}k in PERFORMANCE.md`);
  // The loads themselves verify it, and end with an error otherwise.
  const once = ROWS.filter(({ name }) => ONCE.has(name) && medians[name] !== undefined);
  for (const { name, title } of once) found.push({ holds: true, text: `${title}: ${ONCE.get(name) ?? ''}` });
  return found;
}
