// What a run is about, drawn from its seed: the configuration (always two queue spaces, each with queues for every kind of client), how the
// machine and the network behave, and how much goes wrong. Every trouble is absent from some runs, so that none hides another.
import type { Prng } from '../../src/base/prng.ts';
import { parseDomain } from '../../src/ubb/domain.ts';
import { formatFault } from '../../src/ubb/fault.ts';
import { planHost, type HostPlan } from '../../src/ubb/plan.ts';
import type { SyncSetting } from '../../src/wal/local/sync-strategy.ts';
import { ubbText, type SpaceText } from '../support/ubb-text.ts';
import type { QueueOrder } from './order.ts';
import type { World } from './world.ts';

/** What the daemon can do; whatever is not here yet is tried all the same, and must be refused. */
export interface Capabilities {
  /** A transaction may work in both queue spaces. */
  readonly twoPhaseCommit: boolean;
}
export const CAPABILITIES: Capabilities = { twoPhaseCommit: true };

export const SPACES = ['QSPACE', 'OTHER'] as const;
export type SpaceName = (typeof SPACES)[number];

/** The queues of a space, by the clients that use them. */
export const QUEUE = {
  /** Plain calls only, so that their order can be told. */
  ORDERED: 'ORDERED',
  /** Non-persistent messages among others, expiry, delays, selections. */
  MIXED: 'MIXED',
  /** Transactions. */
  WORK: 'WORK',
  LEFT: 'LEFT',
  /** Few retries. */
  FEW: 'FEW',
  /** Forwarded to the service of this name, with answers on REPLY and FAIL. */
  SERVICE: 'SERVICE',
  REPLY: 'REPLY',
  FAIL: 'FAIL',
  /** What an administrator purges, pauses, destroys and makes again. */
  SCRATCH: 'SCRATCH',
  ERROR: 'ERRQ',
} as const;
export const QUEUES: readonly string[] = Object.values(QUEUE);

export interface SpaceScenario {
  readonly name: SpaceName;
  readonly order: QueueOrder;
  /** RETRIES of FEW. */
  readonly fewRetries: number;
  /** -d of its forwarder: a failure with data is not retried. */
  readonly keepsFailures: boolean;
}

/** How often something goes wrong: milliseconds between two of a kind on average; 0: never. */
export interface Troubles {
  readonly killMs: number;
  readonly powerMs: number;
  readonly stopMs: number;
  readonly cutMs: number;
  readonly silenceMs: number;
  readonly wallStepMs: number;
  readonly diskFullMs: number;
  /** A life ends, or gets an EIO, in a call of its disk. */
  readonly fatalCalls: boolean;
  readonly diskErrors: boolean;
}

export interface Scenario {
  readonly plan: HostPlan;
  readonly spaces: readonly SpaceScenario[];
  readonly sync: SyncSetting;
  readonly cacheBytes: number;
  readonly shortTransfers: number;
  readonly syncMsMax: number;
  readonly delayMsMax: number;
  readonly splitOneIn: number;
  readonly troubles: Troubles;
  /** How long the clients work, in milliseconds. */
  readonly workMs: number;
  /** Clients of each kind in each space. */
  readonly width: number;
  readonly bodyBytesMax: number;
  readonly capabilities: Capabilities;
}

export function drawScenario(world: World, capabilities: Capabilities): Scenario {
  const prng = world.prng('scenario');
  const workMs = prng.oneIn(10) ? 8000 : prng.between(1500, 4000);
  const spaces = SPACES.map((name) => ({
    name,
    order: pick(prng, ['fifo', 'lifo', 'priority'] as const),
    fewRetries: prng.between(0, 1),
    keepsFailures: prng.oneIn(3),
  }));
  const isCalm = prng.oneIn(12);
  const some = (one: number, ms: number): number => (!isCalm && prng.oneIn(one) ? ms : 0);
  return {
    plan: planOf(spaces, prng),
    spaces,
    sync: pick(prng, ['auto', 'inline', 'worker'] as const),
    cacheBytes: pick(prng, [1, 128 * 1024, 512 * 1024]),
    shortTransfers: prng.oneIn(3) ? 8 : 0,
    syncMsMax: pick(prng, [0.5, 5, 50, 200]),
    delayMsMax: pick(prng, [0.2, 2, 20]),
    splitOneIn: pick(prng, [0, 4, 2]),
    troubles: {
      killMs: some(2, 1500),
      powerMs: some(2, 1500),
      stopMs: some(4, 2000),
      cutMs: some(2, 500),
      silenceMs: some(3, 1000),
      wallStepMs: some(4, 1000),
      diskFullMs: some(4, 1000),
      fatalCalls: some(2, 1) > 0,
      diskErrors: some(4, 1) > 0,
    },
    workMs,
    width: prng.oneIn(4) ? 2 : 1,
    bodyBytesMax: pick(prng, [100, 100, 100, 1000, 1000, 20_000]),
    capabilities,
  };
}

function planOf(spaces: readonly SpaceScenario[], prng: Prng): HostPlan {
  const text = ubbText({
    maxGtt: 100,
    resources: 'SCANUNIT 5\nBLOCKTIME 4',
    spaces: spaces.map((space) => spaceText(space, prng)),
  });
  const domain = parseDomain({ file: 'ubbconfig', directory: '/app', bytes: Buffer.from(text) });
  if (domain.faults.length > 0) throw new Error(domain.faults.map(formatFault).join('\n'));
  const result = planHost(domain, { hostname: 'localhost' });
  if (!result.ok) throw new Error(formatFault(result.fault));
  return result.plan;
}

function spaceText({ name, order, fewRetries, keepsFailures }: SpaceScenario, prng: Prng): SpaceText {
  const delay = (): number => (prng.oneIn(2) ? 0 : prng.between(1, 3));
  const many = 1_000_000;
  return {
    name,
    errorQueue: QUEUE.ERROR,
    more: 'NONPERSIST="64k"',
    timeoutS: 10,
    queues: [
      { name: QUEUE.ORDERED, more: `ORDER="${order === 'priority' ? 'priority,fifo' : order}"` },
      { name: QUEUE.MIXED, retries: 2, more: 'ORDER="priority,time" OUTOFORDER="top,msgid"' },
      { name: QUEUE.WORK, retries: many, delay: delay() },
      { name: QUEUE.LEFT, retries: many },
      { name: QUEUE.FEW, retries: fewRetries, delay: prng.oneIn(3) ? 1 : 0 },
      { name: QUEUE.SERVICE, retries: prng.between(0, 3), delay: delay() },
      QUEUE.REPLY,
      QUEUE.FAIL,
      { name: QUEUE.SCRATCH, retries: many },
      { name: QUEUE.ERROR, retries: many },
    ],
    forwarders: [
      {
        queues: [QUEUE.SERVICE],
        timeoutS: prng.between(1, 3),
        options: keepsFailures ? '-d' : '',
        min: prng.between(1, 2),
      },
    ],
  };
}

export function pick<T>(prng: Prng, from: readonly T[]): T {
  return from[prng.below(from.length)] as T;
}
