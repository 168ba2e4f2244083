// Children of the benchmark: a compiled script of this directory that is sent one task and answers once. Every wait is bounded; a child is
// ended by its own handle, and its complaints go to our stderr.
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A child that goes on running after its answer, until `stop`. */
export interface Running<R> {
  readonly answer: R;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface ChildOptions {
  /** Path of the script relative to this directory, as compiled: `bare/server.js`. */
  readonly script: string;
  readonly timeoutMs: number;
}

/** Starts a script, sends it the task and waits for its answer; the child then goes on. */
export async function startChild<R>(options: ChildOptions, task: object): Promise<Running<R>> {
  const path = fileURLToPath(new URL(options.script, import.meta.url));
  const child = fork(path, [], {
    execArgv: [],
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  try {
    const answer = await answerOf<R>(child, options, task);
    return { answer, pid: child.pid ?? 0, stop: () => endOf(child) };
  } catch (error) {
    await endOf(child);
    throw error;
  }
}

/** Runs a script for its answer. */
export async function runChild<R>(options: ChildOptions, task: object): Promise<R> {
  const running = await startChild<R>(options, task);
  await running.stop();
  return running.answer;
}

/** In the child: takes the task, answers with what `run` resolves to. A failure ends the process with a message. */
export function serveTask(run: (task: unknown) => Promise<object>): void {
  process.once('message', (task) => {
    run(task).then(
      (answer) => process.send?.(answer),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  // Never outlive the benchmark.
  process.on('disconnect', () => process.exit(0));
}

function answerOf<R>(child: ChildProcess, options: ChildOptions, task: object): Promise<R> {
  return new Promise<R>((resolve, reject) => {
    const fail = (reason: string) => reject(new Error(`${options.script} ${reason}`));
    const timer = setTimeout(() => fail(`did not answer within ${options.timeoutMs} ms`), options.timeoutMs);
    child.once('error', (error) => fail(`cannot be started: ${error.message}`));
    child.once('exit', (code, signal) => fail(`ended with ${code ?? signal ?? '?'} before it answered`));
    child.once('message', (answer) => resolve(answer as R));
    for (const event of ['error', 'exit', 'message']) child.once(event, () => clearTimeout(timer));
    child.send(task);
  });
}

/** Ends a child and waits until it is gone. */
export function endOf(child: ChildProcess, graceMs = 10_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined)
    return Promise.resolve();
  return new Promise<void>((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs);
    child.once('exit', () => {
      clearTimeout(timer);
      resolve();
    });
    child.kill('SIGTERM');
  });
}
