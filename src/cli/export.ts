// `tmqueue export --drain`: takes the messages of a queue out, in order, into a file of JSON lines. A message's line is on disk before the message
// leaves the queue, and it leaves by its own id outside of any transaction, so that a kill at any moment counts as no attempt: each message is in
// the file, or in the queue, or, when the kill came in between, in both; the next run takes it out of the queue without writing it again.
import type { Command } from 'commander';
import {
  type Context,
  QME,
  type Received,
  TpError,
  TPERRNO,
  TPQ,
  TPQCTL,
} from '../../clients/typescript/index.ts';
import { withContext, type ConnectOptions } from './connect.ts';
import { EXIT, UsageError } from './exit.ts';
import { parseInteger } from './input.ts';
import { LineFile } from './line-file.ts';
import { idOf, lineOf, OUTPUTS, parseMessage } from './message-line.ts';
import { withProgress } from './tool.ts';

interface ExportOptions extends ConnectOptions {
  readonly output: string;
  readonly limit?: number;
  readonly json?: boolean;
}

/** What the first line of a file says. */
export interface ExportHeader {
  readonly 'tmqueue-export': number;
  readonly qspace: string;
  readonly queue: string;
}

export const EXPORT_VERSION = 1;

export function addExport(
  tmqueue: Command,
  done: (work: Promise<number>) => void,
  connect: readonly [flags: string, description: string],
): void {
  tmqueue
    .command('export')
    .description(
      'take the messages of a queue out, into a file of JSON lines; a run that was killed is gone on with',
    )
    .argument('<qspace>', 'the name under which TMQUEUE offers the queue space')
    .argument('<queue>', 'the queue')
    .requiredOption('--drain', 'take them out of the queue: what is in the file is no longer there')
    .requiredOption('-o, --output <file>', 'the file; one that this command has begun is gone on with')
    .option('--limit <n>', 'at most so many messages', parseInteger)
    .option(...connect)
    .option('--json', 'print what was done as JSON')
    .action((qspace: string, queue: string, options: ExportOptions) =>
      done(exportMessages({ qspace, queue }, options)),
    );
}

interface Place {
  readonly qspace: string;
  readonly queue: string;
}

async function exportMessages(place: Place, options: ExportOptions): Promise<number> {
  const { output, limit = Infinity, json } = options;
  if (limit < 1) throw new UsageError(`--limit ${limit}: it must be a number above 0`);
  return withContext(options, async (ctx) => {
    // Before a file is made: the queue exists.
    await ctx.admin(place.qspace).info(place.queue);
    const file = await LineFile.open(output, 'an export');
    try {
      await begin(file, place);
      const drain = new Drain(ctx, place, file);
      await drain.finishLast();
      const before = await ctx.admin(place.qspace).info(place.queue);
      const total = Math.min(before.messages, limit);
      await withProgress({ label: `exporting ${place.queue}`, hidden: json === true }, (show) =>
        drain.run(limit, (count) => show(Math.min(count, total), total)),
      );
      const { messages, delayed, locked } = await ctx.admin(place.qspace).info(place.queue);
      say({ file: output, exported: drain.count, left: messages, delayed, locked }, json === true);
      return EXIT.OK;
    } finally {
      file.close();
    }
  });
}

/** Writes the first line, or reads it in a file that is gone on with. */
async function begin(file: LineFile, { qspace, queue }: Place): Promise<void> {
  const header: ExportHeader = { 'tmqueue-export': EXPORT_VERSION, qspace, queue };
  if (file.isEmpty) return file.append(JSON.stringify(header));
  const found = headerOf(file.first());
  if (found === null) throw new UsageError(`${file.path} exists, and is no export; legal: another name`);
  if (found.qspace === qspace && found.queue === queue) return undefined;
  throw new UsageError(`${file.path} is an export of ${found.qspace} ${found.queue}; legal: another name`);
}

/** null: it is none. */
export function headerOf(line: string): ExportHeader | null {
  try {
    const value: unknown = JSON.parse(line);
    return isHeader(value) ? value : null;
  } catch {
    return null;
  }
}

function isHeader(value: unknown): value is ExportHeader {
  if (typeof value !== 'object' || value === null) return false;
  if (!('tmqueue-export' in value && 'qspace' in value && 'queue' in value)) return false;
  const { 'tmqueue-export': version, qspace, queue } = value;
  return typeof version === 'number' && typeof qspace === 'string' && typeof queue === 'string';
}

class Drain {
  count = 0;
  private readonly ctx: Context;
  private readonly place: Place;
  private readonly file: LineFile;

  constructor(ctx: Context, place: Place, file: LineFile) {
    this.ctx = ctx;
    this.place = place;
    this.file = file;
  }

  /** A run before this one may have been killed between its last line and the message's leaving. */
  async finishLast(): Promise<void> {
    const parsed = parseMessage(this.file.last());
    if (parsed.ok && parsed.value.msgid !== '') await this.take(idOf(parsed.value.msgid));
  }

  async run(limit: number, show: (count: number) => void): Promise<void> {
    let head = await this.peek();
    while (head !== null && this.count < limit) {
      await this.file.append(head.line);
      // The daemon takes them in this order: the second sees the queue without the first's message.
      const taken = this.take(head.msgid);
      const next = this.peek();
      const [isTaken, following] = await Promise.all([taken, next]);
      if (isTaken) this.count++;
      // Someone else has it: its line must not be taken for a message.
      else await this.file.undo();
      head = following;
      show(this.count);
    }
  }

  /** The message that would be taken next; null: there is none. */
  private async peek(): Promise<{ msgid: Uint8Array; line: string } | null> {
    const ctl = new TPQCTL({ flags: OUTPUTS | TPQ.TPQPEEK });
    const received = await this.dequeue(ctl);
    if (received === null || ctl.msgid === null) return null;
    return { msgid: ctl.msgid, line: lineOf(ctl, received) };
  }

  /** Whether it was there. */
  private async take(msgid: Uint8Array): Promise<boolean> {
    return (await this.dequeue(new TPQCTL({ flags: TPQ.TPQGETBYMSGID, msgid }))) !== null;
  }

  private async dequeue(ctl: TPQCTL): Promise<Received | null> {
    const { qspace, queue } = this.place;
    try {
      return await this.ctx.tpdequeue(qspace, queue, ctl, null, 0, { raw: true });
    } catch (error) {
      const isGone =
        TpError.is(error) &&
        error.tperrno === TPERRNO.TPEDIAGNOSTIC &&
        (error.diagnostic === QME.QMENOMSG || error.diagnostic === QME.QMEBADMSGID);
      if (isGone) return null;
      throw error;
    }
  }
}

interface Exported {
  readonly file: string;
  readonly exported: number;
  readonly left: number;
  readonly delayed: number;
  readonly locked: number;
}

function say(done: Exported, json: boolean): void {
  const { file, exported, left, delayed, locked } = done;
  if (json) {
    process.stdout.write(`${JSON.stringify(done)}\n`);
    return;
  }
  const rest =
    left === 0 ? '' : `; ${left} are left: ${delayed} not available yet, ${locked} held by open transactions`;
  process.stdout.write(`${file}: ${exported} messages${rest}\n`);
}
