// The load process of the disk measurement: one task, one answer.
import { serveTask } from '../ipc.ts';
import { runAborts } from './aborts.ts';
import { runChurn } from './churn.ts';
import { runFill } from './fill.ts';
import type { DiskAnswer, DiskTask } from './task.ts';

serveTask((asked): Promise<DiskAnswer> => {
  const task = asked as DiskTask;
  if (task.kind === 'churn') return runChurn(task);
  if (task.kind === 'aborts') return runAborts(task);
  return runFill(task);
});
