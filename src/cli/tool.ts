// What the tools for logs share on the command line: which spaces are meant, who has their device, exit codes, a progress bar.
import { existsSync, realpathSync } from 'node:fs';
import { resolve, sep } from 'node:path';
import { findSpaces, holdDevice, NoLogError, type FoundSpaces } from '../tools/directories.ts';
import { CopyError } from '../tools/log-copy.ts';
import { BusyError } from '../tools/own-directory.ts';
import { SalvageError } from '../tools/salvage.ts';
import { TargetError } from '../tools/target.ts';
import { LogError } from '../wal/log-store.ts';
import { EXIT, report, UsageError } from './exit.ts';
import { Progress } from './progress.ts';

export const WAL_EXIT = {
  OK: EXIT.OK,
  /** `verify`: damage; `salvage`: done, but something is lost. */
  DAMAGE: 1,
  /** `verify`: only what the next start mends by itself. */
  MENDED: 2,
  NO_LOG: 66,
  TARGET: 73,
  IO: 74,
  IN_USE: 75,
} as const;

/** Runs one of the tools; its errors have exit codes of their own. */
export async function guarded(work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    const code = codeOf(error);
    if (code === null) return report(error);
    process.stderr.write(`tmqueue: ${(error as Error).message}\n`);
    return code;
  }
}

function codeOf(error: unknown): number | null {
  if (error instanceof NoLogError) return WAL_EXIT.NO_LOG;
  if (error instanceof TargetError) return WAL_EXIT.TARGET;
  if (error instanceof SalvageError || error instanceof CopyError) return WAL_EXIT.DAMAGE;
  if (error instanceof BusyError) return WAL_EXIT.IN_USE;
  if (error instanceof LogError) return error.cause === undefined ? WAL_EXIT.IN_USE : WAL_EXIT.IO;
  return error instanceof Error && 'syscall' in error ? WAL_EXIT.IO : null;
}

/** Finds the spaces and holds their device while `work` runs. */
export async function onDevice(dir: string, work: (found: FoundSpaces) => Promise<number>): Promise<number> {
  const found = await locate(dir);
  const lock = await holdDevice(found.device);
  try {
    return await work(found);
  } finally {
    lock?.release();
  }
}

/** The same for tools that may look at a log which is being written to. */
export async function besideDaemon(
  dir: string,
  work: (found: FoundSpaces) => Promise<number>,
): Promise<number> {
  try {
    return await onDevice(dir, work);
  } catch (error) {
    if (!isInUse(error)) throw error;
    process.stderr.write(
      `tmqueue: note: ${error.message.replace(/: stop that one.*/, '')}: its log is read while it moves; ` +
        'the end, and damage that is shown, may be different a moment later\n',
    );
    return work(await locate(dir));
  }
}

/** Another process has the device. */
export function isInUse(error: unknown): error is LogError {
  return error instanceof LogError && error.kind === 'Unavailable' && error.cause === undefined;
}

/** Follows links, so that the right device is locked, and keeps what was typed for showing. */
export async function locate(dir: string): Promise<FoundSpaces> {
  if (!existsSync(dir)) throw new NoLogError(`${dir}: no such directory`);
  const real = await findSpaces(realpathSync(dir));
  if (!real.isDevice)
    return { ...real, spaces: real.spaces.map((space) => ({ ...space, dir: withoutSlash(dir) })) };
  return { ...real, spaces: (await findSpaces(dir)).spaces };
}

export function withoutSlash(dir: string): string {
  return dir.length > 1 ? dir.replace(/\/+$/, '') : dir;
}

export interface Bar {
  readonly label: string;
  /** For programs: nothing is drawn. */
  readonly hidden?: boolean;
}

export async function withProgress<T>(
  { label, hidden }: Bar,
  work: (show: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  if (hidden === true) return work(() => {});
  const progress = new Progress(label);
  try {
    return await work(progress.show);
  } finally {
    progress.clear();
  }
}

export function refuseInside(dir: string, into: string): void {
  const [old, fresh] = [realpathSync(dir), resolve(into)];
  if (fresh === old || fresh.startsWith(old + sep))
    throw new UsageError(`--into ${into}: the new directory must not be inside the old one`);
}
