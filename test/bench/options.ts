// The command line of `npm run bench`.
import { parseArgs } from 'node:util';
import { PEERS, type PeerName } from './peers/peer.ts';

export const WORKLOADS = ['W1', 'W2', 'W3', 'W4', 'W5', 'W6', 'W7', 'W8', 'W9', 'W10', 'W11'] as const;
export type Workload = (typeof WORKLOADS)[number];

export interface Options {
  readonly only: readonly Workload[];
  readonly rounds: number;
  /** How long each workload is measured in each round. */
  readonly measureMs: number;
  /** How long the code of both sides is warmed before. */
  readonly warmupMs: number;
  readonly sdk: boolean;
  /** Messages of W8. */
  readonly backlog: number;
  /** Messages of other corrids on the queue of W11. */
  readonly others: number;
  /** Other systems that run the same. */
  readonly peers: readonly PeerName[];
  /** Where their clients' packages are. */
  readonly peerModules: string;
  readonly strace: boolean;
  readonly reportOnly: boolean;
  /** File for all figures; '' none. */
  readonly json: string;
  /** Directory for processor profiles of the daemon; '' none. */
  readonly cpuProf: string;
  /** Parent of the temporary directory; '' the system's. */
  readonly directory: string;
  readonly keep: boolean;
}

const BACKLOG = { SHORT: 1_000_000, FULL: 10_000_000 } as const;
const OTHERS = 300_000;

export const USAGE = `usage: npm run bench -- [options]

  --only W1,W3     only these workloads (W1 to W11)
  --rounds N       rounds, of which the median counts (5)
  --seconds N      measured seconds of a workload in a round (2)
  --warmup N       seconds in which both sides' code is warmed before (1)
  --full           ten million messages in W8 (one million)
  --scale N        numbers of messages of W8 and W11 times N, for a quick look (1)
  --peer A,B       the same beside other systems that are installed, at full durability:
                   ${PEERS.slice(0, 3).join(', ')},
                   ${PEERS.slice(3).join(', ')}
  --peer-modules D where the packages amqplib, bullmq, ioredis, pg-boss are installed (.)
  --no-sdk         leave out the row of W3 through the TypeScript client
  --strace         instead: trace a short run and check that no answer precedes its sync
  --report-only    exit with 0 also when a threshold does not hold
  --json FILE      write every figure of every round
  --cpu-prof DIR   let the daemon write processor profiles
  --dir DIR        where the temporary directory is made; the file system is what is measured
  --keep           leave the temporary directory
`;

/** The options, or what is wrong with them. */
export function readOptions(args: readonly string[]): Options | string {
  try {
    return checked(args);
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function checked(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    allowNegative: true,
    options: {
      only: { type: 'string', default: WORKLOADS.join(',') },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '2' },
      warmup: { type: 'string', default: '1' },
      full: { type: 'boolean', default: false },
      scale: { type: 'string', default: '1' },
      sdk: { type: 'boolean', default: true },
      peer: { type: 'string', default: '' },
      'peer-modules': { type: 'string', default: '.' },
      strace: { type: 'boolean', default: false },
      'report-only': { type: 'boolean', default: false },
      json: { type: 'string', default: '' },
      'cpu-prof': { type: 'string', default: '' },
      dir: { type: 'string', default: '' },
      keep: { type: 'boolean', default: false },
    },
  });
  const scale = number('--scale', values.scale, { min: 0.001, max: 10 });
  return {
    only: workloads(values.only),
    rounds: number('--rounds', values.rounds, { min: 1, max: 100 }),
    measureMs: 1000 * number('--seconds', values.seconds, { min: 0.1, max: 600 }),
    warmupMs: 1000 * number('--warmup', values.warmup, { min: 0, max: 60 }),
    sdk: values.sdk,
    backlog: Math.ceil((values.full ? BACKLOG.FULL : BACKLOG.SHORT) * scale),
    others: Math.ceil(OTHERS * scale),
    peers: peers(values.peer),
    peerModules: values['peer-modules'],
    strace: values.strace,
    reportOnly: values['report-only'],
    json: values.json,
    cpuProf: values['cpu-prof'],
    directory: values.dir,
    keep: values.keep,
  };
}

function peers(text: string): PeerName[] {
  const asked = text
    .split(',')
    .map((name) => name.trim())
    .filter(Boolean);
  const unknown = asked.find((name) => !PEERS.some((peer) => peer === name));
  if (unknown !== undefined) throw new Error(`--peer: ${unknown} is none of ${PEERS.join(', ')}`);
  return PEERS.filter((name) => asked.includes(name));
}

function workloads(text: string): Workload[] {
  const asked = text.split(',').map((name) => name.trim().toUpperCase());
  const unknown = asked.find((name) => !WORKLOADS.some((workload) => workload === name));
  if (unknown !== undefined) throw new Error(`--only: ${unknown} is none of ${WORKLOADS.join(', ')}`);
  return WORKLOADS.filter((workload) => asked.includes(workload));
}

function number(name: string, text: string, range: { min: number; max: number }): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= range.min && value <= range.max) return value;
  throw new Error(`${name}: ${text} is not a number from ${range.min} to ${range.max}`);
}
