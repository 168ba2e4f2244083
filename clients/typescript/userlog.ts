// userlog [spec 3.7]: a line in the file ULOG.mmddyy. Invariants: ULOGPFX is read once, at the first line; the first line of a file names the
// version; a line is written whole, and has been when the call returns.
import { appendFileSync, existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { basename, join } from 'node:path';
import { format } from 'node:util';
import { threadId } from 'node:worker_threads';

/** What stands in the tag of a line. */
export interface LogTag {
  /** 0: no context. */
  readonly context: number;
  /** Three hexadecimal numbers in transaction mode, else ''. */
  readonly gtrid: string;
}

const VERSION = '@tmqueue/client 0.1.0';
const NO_TAG: LogTag = { context: 0, gtrid: '' };

const two = (value: number): string => String(value % 100).padStart(2, '0');

let prefix: string | null = null;

/**
 * Appends a line to the log, `hhmmss.node!process.pid.thread.context: text`. The file is `$ULOGPFX.mmddyy`; without ULOGPFX `ULOG.mmddyy` in
 * APPDIR, or in the working directory. With ULOGDEBUG=1 or y it goes to standard error as well.
 * @param text with %s, %d, %j … as util.format
 * @returns characters written, or -1
 */
export function userlog(text: string, ...values: unknown[]): number {
  return writeLine(NO_TAG, format(text, ...values));
}

export function writeLine(tag: LogTag, text: string): number {
  const { env, pid, argv } = process;
  prefix ??= env['ULOGPFX'] ?? join(env['APPDIR'] ?? '.', 'ULOG');
  const now = new Date();
  const day = two(now.getMonth() + 1) + two(now.getDate()) + two(now.getFullYear());
  const time = two(now.getHours()) + two(now.getMinutes()) + two(now.getSeconds());
  const head = `${time}.${hostname()}!${basename(argv[1] ?? 'node')}.${pid}.${threadId}.${tag.context}: `;
  const gtrid = tag.gtrid === '' ? '' : `gtrid ${tag.gtrid}: `;
  const line = `${head}${gtrid}${text}\n`;
  const file = `${prefix}.${day}`;
  try {
    appendFileSync(file, existsSync(file) ? line : `${head}${VERSION}\n${line}`);
  } catch {
    return -1;
  }
  if (/^[1yY]/.test(env['ULOGDEBUG'] ?? '')) process.stderr.write(line);
  return line.length;
}
