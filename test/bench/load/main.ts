// The load generator's process: one task, one answer.
import { serveTask } from '../ipc.ts';
import type { Figures } from '../figures.ts';
import { runBare } from './bare.ts';
import { runLean } from './lean.ts';
import { runSdk } from './sdk.ts';
import type { LoadTask } from './task.ts';

const RUN: Readonly<Record<LoadTask['kind'], (task: LoadTask) => Promise<Figures>>> = {
  bare: runBare,
  lean: runLean,
  sdk: runSdk,
};

serveTask((asked) => {
  const task = asked as LoadTask;
  return RUN[task.kind](task);
});
