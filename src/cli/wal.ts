// `tmqueue wal …`: the offline tools for logs. Each works on the directory of a queue space, or on a device with several; while it does, it
// holds the device's lock, so that no daemon writes there. What it prints is text or, with --json, one object a line.
import { join } from 'node:path';
import type { Command } from 'commander';
import type { SpaceDirectory } from '../tools/directories.ts';
import { dumpSpace } from '../tools/dump.ts';
import { salvageSpace, REPORT_FILE } from '../tools/salvage.ts';
import { statSpace, type SpaceStat } from '../tools/stat.ts';
import { bytesText } from '../tools/text.ts';
import { verifySpace, type Finding, type Verdict } from '../tools/verify.ts';
import { parseInteger, parseMsgidText } from './input.ts';
import { formatTable } from './table.ts';
import {
  besideDaemon,
  guarded,
  onDevice,
  refuseInside,
  WAL_EXIT,
  withoutSlash,
  withProgress,
} from './tool.ts';

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

function verify(dir: string, { json }: JsonOption): Promise<number> {
  return onDevice(dir, async ({ spaces }) => {
    let code: number = WAL_EXIT.OK;
    for (const space of spaces) {
      const verdict = await withProgress(
        { label: `verifying ${space.name}`, hidden: json === true },
        (progress) => verifySpace(space, { progress }),
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
  damaged: 'DAMAGED',
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
      // On a terminal the lines themselves say how far it is.
      const bar = { label: `dumping ${space.name}`, hidden: options.json || process.stdout.isTTY };
      await withProgress(bar, async (progress) => {
        for await (const line of dumpSpace(space, options, { progress })) {
          await out.line(isDevice && options.json ? withSpace(space, line) : line);
          if (out.isClosed) return;
        }
      });
      if (out.isClosed) return WAL_EXIT.OK;
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
    refuseInside(dir, into);
    let code: number = WAL_EXIT.OK;
    for (const space of spaces) {
      const place = isDevice ? join(target, space.dir.slice(space.dir.lastIndexOf('/') + 1)) : target;
      const result = await withProgress({ label: `salvaging ${space.name}` }, (progress) =>
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
      const bar = { label: `reading ${space.name}`, hidden: json === true };
      const found = await withProgress(bar, (progress) => statSpace(space, { progress }));
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
