// Commands of the configuration: those of thresholds [spec 5.6] and RCMD [spec 6.4]. Run by the shell in APPDIR, on their own: nobody waits
// for them, their exit status and output are theirs. A `tmboot` or `tmqueue` in one is that of this installation (PATH) and reaches the daemon
// that ran it: WSNADDR is the daemon's address.
import { spawn } from 'node:child_process';
import type { LogFields, Ulog } from '../base/ulog.ts';
import { pathWithOwn } from './own-commands.ts';

export interface ShellPorts {
  readonly ulog: Ulog;
  readonly appdir: string;
  /** Of the daemon that runs them; null or absent: there is none. */
  readonly address?: { readonly host: string; readonly port: number } | null;
}

/** It finds the space and the queue in TMQUEUE_QSPACE and TMQUEUE_QUEUE. */
export function runThresholdCommand(
  command: string,
  about: { readonly space: string; readonly queue: string },
  ports: ShellPorts,
): void {
  const env = { ...process.env, TMQUEUE_QSPACE: about.space, TMQUEUE_QUEUE: about.queue };
  run({ command, env, failed: 'the threshold command could not be started', fields: about }, ports);
}

/** It finds the numbers of the group and of the server as its last two arguments [spec 6.4, RCMD]. */
export function runRestartCommand(
  command: string,
  { grpno, srvid }: { readonly grpno: number; readonly srvid: number },
  ports: ShellPorts,
): void {
  const whole = `${command} ${grpno} ${srvid}`;
  const fields = { grpno, srvid };
  run({ command: whole, env: process.env, failed: 'RCMD could not be started', fields }, ports);
}

/** Starts the command. A shell that cannot be started is logged. */
function run(
  what: { command: string; env: NodeJS.ProcessEnv; failed: string; fields: LogFields },
  { ulog, appdir, address = null }: ShellPorts,
): void {
  const { command, failed, fields } = what;
  const env = { ...what.env };
  const PATH = pathWithOwn(env['PATH']);
  if (PATH !== undefined) env['PATH'] = PATH;
  if (address !== null) env['WSNADDR'] = addressText(address);
  const child = spawn('/bin/sh', ['-c', command], { cwd: appdir, env, stdio: 'ignore', detached: true });
  child.on('error', (error) => {
    ulog.warn(`${failed}: ${error.message}`, { ...fields, command });
  });
  child.unref();
}

function addressText({ host, port }: { readonly host: string; readonly port: number }): string {
  return `//${host.includes(':') ? `[${host}]` : host}:${port}`;
}
