// What the daemon takes from the machine it runs on besides clock, log and disk: sockets, chance, the end of the loop's turn, its
// own number and the shell.
// Whoever hands in another one, a clock and a FileIo decides everything that a daemon cannot know by itself: the simulation does.
import { randomBytes } from 'node:crypto';
import type { Soon } from '../engine/journal.ts';
import { nodeNetwork, type Network } from '../net/network.ts';
import { runRestartCommand, runThresholdCommand } from './shell-commands.ts';

export interface Machine {
  readonly network: Network;
  readonly soon: Soon;
  readonly randomBytes: (count: number) => Uint8Array;
  /** Of this process. */
  readonly pid: number;
  readonly runThresholdCommand: typeof runThresholdCommand;
  readonly runRestartCommand: typeof runRestartCommand;
}

export const thisMachine: Machine = {
  network: nodeNetwork,
  soon: (run) => {
    setImmediate(run);
  },
  randomBytes,
  pid: process.pid,
  runThresholdCommand,
  runRestartCommand,
};
