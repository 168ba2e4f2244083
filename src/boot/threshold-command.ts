// Threshold commands [spec 5.6]: run by the shell in APPDIR, on their own: nobody waits for them, their exit status and output are theirs.
import { spawn } from 'node:child_process';
import type { Ulog } from '../base/ulog.ts';

/** Starts the command. It finds the space and the queue in TMQUEUE_QSPACE and TMQUEUE_QUEUE. A shell that cannot be started is logged. */
export function runThresholdCommand(
  command: string,
  about: { readonly space: string; readonly queue: string },
  ports: { readonly ulog: Ulog; readonly appdir: string },
): void {
  const env = { ...process.env, TMQUEUE_QSPACE: about.space, TMQUEUE_QUEUE: about.queue };
  const child = spawn('/bin/sh', ['-c', command], {
    cwd: ports.appdir,
    env,
    stdio: 'ignore',
    detached: true,
  });
  child.on('error', (error) => {
    ports.ulog.warn(`the threshold command could not be started: ${error.message}`, { ...about, command });
  });
  child.unref();
}
