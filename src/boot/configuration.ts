// The configuration that a daemon was started with, and how it is read again. Owns which file, which machine and what the command line said of
// them; a file read later stands in the same folder, since what it names is relative to that.
import { realpathSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Fault } from '../ubb/fault.ts';
import type { Domain } from '../ubb/model.ts';
import { type HostChoice, type HostPlan, obstacles, planHost } from '../ubb/plan.ts';
import { type ReadOptions, readDomain } from '../ubb/read.ts';

export interface ConfigurationSource extends HostChoice, ReadOptions {
  /** As it was named; `-` is standard input. */
  readonly file: string;
}

export type Loaded =
  | { readonly ok: true; readonly plan: HostPlan; readonly domain: Domain }
  | { readonly ok: false; readonly faults: readonly Fault[] };

/** Reads the configuration; a file that the daemon would not start on is refused with all faults. */
export function loadConfiguration(source: ConfigurationSource, file = source.file): Loaded {
  const domain = readDomain(file, source.env === undefined ? {} : { env: source.env });
  if (domain.faults.length > 0) return { ok: false, faults: domain.faults };
  const result = planHost(domain, source);
  if (!result.ok) return { ok: false, faults: [result.fault] };
  const { plan } = result;
  const faults = obstacles(plan);
  return faults.length > 0 ? { ok: false, faults } : { ok: true, plan, domain };
}

/** For a running daemon: the same file again, or another one of its folder. */
export function loadAgain(source: ConfigurationSource, file: string | null): Loaded {
  const folder = source.file === '-' ? process.cwd() : dirname(resolve(source.file));
  if (file === null) {
    if (source.file !== '-') return loadConfiguration(source);
    return refuse('-', `came from standard input; legal: reload -c and a file in ${folder}`);
  }
  if (realFolder(dirname(resolve(folder, file))) !== realFolder(folder)) {
    return refuse(
      file,
      `is in another folder than the configuration of the start, which paths are relative to; legal: a file in ${folder}`,
    );
  }
  const name = resolve(folder, basename(file));
  return loadConfiguration(source, source.file !== '-' && name === resolve(source.file) ? source.file : name);
}

function refuse(file: string, message: string): Loaded {
  return { ok: false, faults: [{ file, line: 0, column: 0, word: file, message }] };
}

/** Two names may lead to one folder. */
function realFolder(folder: string): string {
  try {
    return realpathSync(folder);
  } catch {
    return folder;
  }
}
