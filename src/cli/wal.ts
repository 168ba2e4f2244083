// `tmqueue wal …`: the offline tools for logs. Each works on the directory of a queue space, or on a device with several; while it does, it
// holds the device's lock, so that no daemon writes there. What it prints is text or, with --json, one object a line.
import { existsSync, realpathSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import {
  findSpaces,
  holdDevice,
  NoLogError,
  type FoundSpaces,
  type SpaceDirectory,
} from '../tools/directories.ts';
import { dumpSpace } from '../tools/dump.ts';
import { salvageSpace, REPORT_FILE, SalvageError, TargetError } from '../tools/salvage.ts';
import { statSpace, type SpaceStat } from '../tools/stat.ts';
import { bytesText } from '../tools/text.ts';
import { verifySpace, type Finding, type Verdict } from '../tools/verify.ts';
import { LogError } from '../wal/log-store.ts';
import { EXIT, report, UsageError } from './exit.ts';
import { parseInteger, parseMsgidText } from './input.ts';
import { Progress } from './progress.ts';
import { formatTable } from './table.ts';

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

const CODES = `
Exit codes of verify: 0 OK, 1 damage (or a newer format), 2 only what the next start mends by itself: a torn tail, a file of the wrong
length, leftover files. Of salvage: 0 all that was acknowledged is kept, 1 something is lost (see ${REPORT_FILE}). Of all: 64 wrong usage,
66 no log there, 73 the new directory cannot be made, 74 reading or writing failed, 75 a daemon uses the device.`;

interface JsonOption {
  readonly json?: boolean;
}
interface DumpWords extends JsonOption {
  readonly from?: number;
  readonly queue?: string;
  readonly msgid?: string;
  readonly data?: boolean;
}

export function addWal(tmqueue: Command, done: (work: Promise<number>) => void): void {
  const wal = tmqueue
    .command('wal')
    .description('look at, check and salvage logs, with no daemon running on them')
    .addHelpText('after', CODES);
  const command = (name: string, description: string): Command =>
    wal
      .command(name)
      .description(description)
      .argument(
        '<dir>',
        "a queue space's directory, such as data/QSPACE, or the device it is on: all its spaces",
      );
  command('verify', 'read everything and say what is wrong; changes nothing')
    .option('--json', 'print each space as JSON')
    .action((dir: string, options: JsonOption) => done(guarded(() => verify(dir, options))));
  command('dump', 'print the records, one a line; also of a log that a daemon is writing to')
    .option('--from <pos>', 'begin with the batch at this position', parseInteger)
    .option('--queue <name>', 'only records about this queue')
    .option('--msgid <id>', 'only records about this message: its 32 characters', parseMsgidText)
    .option('--data', "the messages' data too: as text, or in hexadecimal digits")
    .option('--json', 'print an object a line')
    .action((dir: string, options: DumpWords) => done(guarded(() => dump(dir, options))));
  command('salvage', 'write a new log with every whole batch of a damaged one; the old one stays as it is')
    .requiredOption('--into <new>', 'the new directory: of the queue space, or of the device')
    .action((dir: string, options: { into: string }) => done(guarded(() => salvage(dir, options.into))));
  command('stat', 'show live and dead bytes a segment; also of a log that a daemon is writing to')
    .option('--json', 'print each space as JSON')
    .action((dir: string, options: JsonOption) => done(guarded(() => stat(dir, options))));
}

/** Runs one of the tools; its errors have exit codes of their own. */
async function guarded(work: () => Promise<number>): Promise<number> {
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
  if (error instanceof SalvageError) return WAL_EXIT.DAMAGE;
  if (error instanceof LogError) return error.cause === undefined ? WAL_EXIT.IN_USE : WAL_EXIT.IO;
  return error instanceof Error && 'syscall' in error ? WAL_EXIT.IO : null;
}

/** Finds the spaces and holds their device while `work` runs. */
async function onDevice(dir: string, work: (found: FoundSpaces) => Promise<number>): Promise<number> {
  const found = await locate(dir);
  const lock = await holdDevice(found.device);
  try {
    return await work(found);
  } finally {
    lock?.release();
  }
}

/** The same for tools that may look at a log which is being written to. */
async function besideDaemon(dir: string, work: (found: FoundSpaces) => Promise<number>): Promise<number> {
  try {
    return await onDevice(dir, work);
  } catch (error) {
    if (!(error instanceof LogError) || error.kind !== 'Unavailable' || error.cause !== undefined)
      throw error;
    process.stderr.write(
      `tmqueue: note: ${error.message.replace(/: stop that one.*/, '')}: its log is read while it moves; ` +
        'the end, and damage that is shown, may be different a moment later\n',
    );
    return work(await locate(dir));
  }
}

/** Follows links, so that the right device is locked, and keeps what was typed for showing. */
async function locate(dir: string): Promise<FoundSpaces> {
  if (!existsSync(dir)) throw new NoLogError(`${dir}: no such directory`);
  const real = await findSpaces(realpathSync(dir));
  if (!real.isDevice)
    return { ...real, spaces: real.spaces.map((space) => ({ ...space, dir: withoutSlash(dir) })) };
  return { ...real, spaces: (await findSpaces(dir)).spaces };
}

function withoutSlash(dir: string): string {
  return dir.length > 1 ? dir.replace(/\/+$/, '') : dir;
}

async function withProgress<T>(
  label: string,
  work: (show: (done: number, total: number) => void) => Promise<T>,
): Promise<T> {
  const progress = new Progress(label);
  try {
    return await work(progress.show);
  } finally {
    progress.clear();
  }
}

function verify(dir: string, { json }: JsonOption): Promise<number> {
  return onDevice(dir, async ({ spaces }) => {
    let code: number = WAL_EXIT.OK;
    for (const space of spaces) {
      const verdict = await withProgress(`verifying ${space.name}`, (progress) =>
        verifySpace(space, { progress }),
      );
      process.stdout.write(json === true ? `${JSON.stringify(asJson(verdict))}\n` : verdictText(verdict));
      if (verdict.isDamaged) code = WAL_EXIT.DAMAGE;
      else if (verdict.findings.length > 0 && code === WAL_EXIT.OK) code = WAL_EXIT.MENDED;
    }
    return code;
  });
}

function asJson({ space, ...rest }: Verdict): object {
  return { space: space.name, dir: space.dir, verdict: verdictWord(rest), ...rest };
}

function verdictWord({ isDamaged, findings }: Pick<Verdict, 'isDamaged' | 'findings'>): string {
  return isDamaged ? 'damaged' : findings.length > 0 ? 'mendable' : 'ok';
}

const VERDICTS: Readonly<Record<string, string>> = {
  ok: 'OK',
  mendable: 'the next start mends this by itself',
  damaged: 'DAMAGED: a daemon would refuse the log, or a message of it',
};

function verdictText(verdict: Verdict): string {
  const { space, findings, unlisted, segments, segmentBytes, batches, messages, queues } = verdict;
  const size = segmentBytes === 0 ? '' : ` of ${bytesText(segmentBytes)}`;
  const lines = findings.map(
    (finding: Finding) => `${finding.file}: offset ${finding.offset}: ${finding.kind}: ${finding.text}`,
  );
  if (unlisted > 0) lines.push(`… and ${unlisted} findings more`);
  lines.push(
    `${space.name} (${space.dir}): ${VERDICTS[verdictWord(verdict)]}: ${segments} segments${size}, ${batches} batches, ` +
      `${messages} messages on ${queues} queues`,
  );
  return `${lines.join('\n')}\n`;
}

function dump(dir: string, words: DumpWords): Promise<number> {
  const { from, queue, msgid } = words;
  const options = {
    json: words.json === true,
    data: words.data === true,
    ...(from === undefined ? {} : { from }),
    ...(queue === undefined ? {} : { queue }),
    ...(msgid === undefined ? {} : { msgid }),
  };
  return besideDaemon(dir, async ({ spaces, isDevice }) => {
    const out = new Output();
    for (const space of spaces) {
      if (isDevice && !options.json) await out.line(`# queue space ${space.name}: ${space.dir}`);
      for await (const line of dumpSpace(space, options)) {
        await out.line(isDevice && options.json ? withSpace(space, line) : line);
        if (out.isClosed) return WAL_EXIT.OK;
      }
    }
    await out.flush();
    return WAL_EXIT.OK;
  });
}

function withSpace({ name }: SpaceDirectory, line: string): string {
  return `{"qspace":${JSON.stringify(name)},${line.slice(1)}`;
}

/** Standard output for many lines: no more in memory than it takes. */
class Output {
  private text = '';

  get isClosed(): boolean {
    return process.stdout.destroyed || process.stdout.errored !== null;
  }

  async line(line: string): Promise<void> {
    this.text += `${line}\n`;
    if (this.text.length > 65_536) await this.flush();
  }

  async flush(): Promise<void> {
    const { text } = this;
    this.text = '';
    await new Promise<void>((written) => {
      process.stdout.write(text, () => written());
    });
  }
}

function salvage(dir: string, into: string): Promise<number> {
  return onDevice(dir, async ({ spaces, isDevice }) => {
    const target = withoutSlash(into);
    const [old, fresh] = [realpathSync(dir), resolve(target)];
    if (fresh === old || fresh.startsWith(old + sep))
      throw new UsageError(`--into ${into}: the new directory must not be inside the old one`);
    let code: number = WAL_EXIT.OK;
    for (const space of spaces) {
      const place = isDevice ? join(target, space.dir.slice(space.dir.lastIndexOf('/') + 1)) : target;
      const result = await withProgress(`salvaging ${space.name}`, (progress) =>
        salvageSpace(space, place, { progress }),
      );
      process.stdout.write(`${result.summary().join('\n')}\n  report: ${join(place, REPORT_FILE)}\n`);
      if (!result.isComplete) code = WAL_EXIT.DAMAGE;
    }
    return code;
  });
}

function stat(dir: string, { json }: JsonOption): Promise<number> {
  return besideDaemon(dir, async ({ spaces }) => {
    for (const [i, space] of spaces.entries()) {
      const found = await withProgress(`reading ${space.name}`, (progress) => statSpace(space, { progress }));
      process.stdout.write(
        json === true ? `${JSON.stringify(found)}\n` : (i > 0 ? '\n' : '') + statText(found),
      );
    }
    return WAL_EXIT.OK;
  });
}

function statText({ space, dir, segments, total, messages, gaps }: SpaceStat): string {
  const damage = gaps === 0 ? '' : `; ${gaps} damaged parts are not counted: see wal verify`;
  const rows = [
    ['SEGMENT', 'BYTES', 'LIVE', 'DEAD', 'FREE', 'BATCHES', 'FIRST', 'LAST'],
    ...segments.map((one) => [...row(one.segment, one), one.first ?? '-', one.last ?? '-']),
    [...row('total', total), '', ''],
  ];
  return `${space} (${dir}): ${messages} messages${damage}\n${formatTable(rows).join('\n')}\n`;
}

function row(name: string, one: SpaceStat['total']): string[] {
  return [name, ...[one.bytes, one.live, one.dead, one.free, one.batches].map(String)];
}
