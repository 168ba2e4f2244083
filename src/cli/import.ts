// `tmqueue import`: puts the messages of a file of JSON lines on a queue, each once, however often it is killed on the way. They go in
// transactions of up to 100; before each commit its id is on disk (import-state.ts), and a later run asks the daemon what became of the last
// one. The whole file is checked before the first message is put.
import { statSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { type Context, TpError, TPQ, TPQCTL } from '../../clients/typescript/index.ts';
import { withContext, type ConnectOptions } from './connect.ts';
import { EXIT, UnavailableError, UsageError } from './exit.ts';
import { digestOf, type FileLine, linesOf } from './import-file.ts';
import { ImportState, type Step } from './import-state.ts';
import type { ParsedMessage } from './message-line.ts';
import { withProgress } from './tool.ts';

interface ImportOptions extends ConnectOptions {
  readonly state?: string;
  readonly dryRun?: boolean;
  readonly assume?: 'committed' | 'rolled-back';
  readonly json?: boolean;
}

interface Target {
  readonly qspace: string;
  readonly queue: string;
  readonly path: string;
}

/** What the file holds. */
interface Counted {
  readonly messages: number;
  readonly doubles: number;
  readonly bytes: number;
}

const BATCH_MESSAGES = 100;
const BATCH_BYTES = 8 * 1024 * 1024;
const TRANSACTION_S = 300;
const FAULTS_SHOWN = 20;
/** How long a transaction of a run before may still be open: its connection is gone, or another import runs. */
const OPEN_TRIES = 50;
const OPEN_PAUSE_MS = 100;
/** The id of the queue space in a msgid. */
const SPACE_DIGITS = 8;

export function addImport(
  tmqueue: Command,
  done: (work: Promise<number>) => void,
  connect: readonly [flags: string, description: string],
): void {
  tmqueue
    .command('import')
    .description(
      'put the messages of a file of JSON lines on a queue, each once; a run that was killed is gone on with',
    )
    .argument('<qspace>', 'the name under which TMQUEUE offers the queue space')
    .argument('<queue>', 'the queue')
    .argument('<file>', 'what export has written, or lines of the same form')
    .option('--state <file>', 'where to note how far it has come (default: the name of the file and .import)')
    .option('--dry-run', 'check every line and put nothing; asks no daemon')
    .addOption(
      new Option(
        '--assume <outcome>',
        'what became of the last transaction of a killed run, when the daemon does not know any more',
      ).choices(['committed', 'rolled-back']),
    )
    .option(...connect)
    .option('--json', 'print what was done as JSON')
    // oxlint-disable-next-line max-params -- commander's: the arguments, then the options
    .action((qspace: string, queue: string, path: string, options: ImportOptions) =>
      done(importMessages({ qspace, queue, path }, options)),
    );
}

async function importMessages(target: Target, options: ImportOptions): Promise<number> {
  const { path } = target;
  const json = options.json === true;
  const counted = await check(path);
  if (counted === null) return EXIT.REFUSED;
  const { messages, doubles } = counted;
  if (options.dryRun === true) {
    if (json) process.stdout.write(`${JSON.stringify({ file: path, messages, doubles })}\n`);
    else process.stdout.write(`${path}: ${messages} messages${doublesText(doubles)}; nothing was put\n`);
    return EXIT.OK;
  }
  return withContext(options, async (ctx) => {
    await ctx.admin(target.qspace).info(target.queue);
    const state = await ImportState.open(options.state ?? `${path}.import`);
    try {
      await begin(state, target, counted.bytes);
      const start = await whereToBegin(ctx, { state, target, assume: options.assume });
      const run = new Import(ctx, { target, state, start });
      await withProgress({ label: `importing into ${target.queue}`, hidden: json }, (show) =>
        run.run((count) => show(count, messages)),
      );
      const put = run.count - start.messages;
      const done = { file: path, imported: put, before: start.messages, doubles };
      const earlier = start.messages === 0 ? '' : `, ${start.messages} had been before`;
      if (json) process.stdout.write(`${JSON.stringify(done)}\n`);
      else process.stdout.write(`${path}: ${put} messages imported${earlier}${doublesText(doubles)}\n`);
      return EXIT.OK;
    } finally {
      state.close();
    }
  });
}

function doublesText(doubles: number): string {
  return doubles === 0 ? '' : `, ${doubles} lines stand there twice and count once`;
}

/** Every line; null: some are wrong, which has been said. */
async function check(path: string): Promise<Counted | null> {
  if (!statSync(path, { throwIfNoEntry: false })?.isFile())
    throw new UsageError(`${path} is no file; legal: what export has written, or lines of the same form`);
  let [messages, doubles, faults, bytes] = [0, 0, 0, 0];
  for await (const { number, message, isDouble, fault, end } of linesOf(path)) {
    bytes = end;
    if (message !== null) messages++;
    if (isDouble) doubles++;
    if (fault === '') continue;
    faults++;
    if (faults <= FAULTS_SHOWN) process.stderr.write(`${path}:${number}: ${fault}\n`);
  }
  if (faults === 0) return { messages, doubles, bytes };
  if (faults > FAULTS_SHOWN) process.stderr.write(`… and ${faults - FAULTS_SHOWN} more\n`);
  process.stderr.write(
    `tmqueue: nothing was put: ${faults === 1 ? '1 line is' : `${faults} lines are`} wrong\n`,
  );
  return null;
}

/** A new state file is of this file; one that is there must be. */
async function begin(state: ImportState, { qspace, queue, path }: Target, bytes: number): Promise<void> {
  const { of } = state;
  if (of === null) {
    const sha256 = await digestOf(path, bytes);
    if (sha256 === null) throw new UsageError(`${path} became shorter while it was read`);
    return state.begin({ qspace, queue, bytes, sha256 });
  }
  const other = 'legal: another --state, or none of its name for an import from the beginning';
  if (of.qspace !== qspace || of.queue !== queue)
    throw new UsageError(`the state is of an import into ${of.qspace} ${of.queue}; ${other}`);
  if ((await digestOf(path, of.bytes)) !== of.sha256)
    throw new UsageError(`the state is of another file than ${path}, or that has changed since; ${other}`);
  return undefined;
}

/** Everything before `position` is on the queue: so many messages. */
interface Start {
  readonly position: number;
  readonly messages: number;
}

async function whereToBegin(
  ctx: Context,
  about: { readonly state: ImportState; readonly target: Target; readonly assume: ImportOptions['assume'] },
): Promise<Start> {
  const { step } = about.state;
  if (step === null) return { position: 0, messages: 0 };
  await checkSpace(ctx, about.target, step);
  const isThere = about.assume === undefined ? await isCommitted(ctx, step) : about.assume === 'committed';
  return isThere
    ? { position: step.to, messages: step.before + step.messages }
    : { position: step.from, messages: step.before };
}

/** Another daemon, or a queue space that was made anew, knows nothing of the transaction, and would say that it was rolled back. */
async function checkSpace(ctx: Context, { qspace, queue }: Target, step: Step): Promise<void> {
  const ctl = new TPQCTL({ flags: TPQ.TPQMSGID });
  await ctx.tpbegin(TRANSACTION_S);
  try {
    await ctx.tpenqueue(qspace, queue, ctl, null);
  } finally {
    await ctx.tpabort();
  }
  if (spaceOf(ctl) === step.space) return;
  throw new UsageError(
    `the state is of another queue space of the name ${qspace}: what it has imported is not on this one; legal: the daemon that it began with, ` +
      'or no state of its name for an import from the beginning',
  );
}

async function isCommitted(ctx: Context, { tx }: Step): Promise<boolean> {
  for (let tries = 0; tries < OPEN_TRIES; tries++) {
    const outcome = await ctx.transactionOutcome(tx);
    if (outcome === 'committed') return true;
    if (outcome === 'rolled back') return false;
    if (outcome !== 'open') {
      throw new UsageError(
        `what became of transaction ${tx} of the run before is not known any more (${outcome}): look whether its messages are on the ` +
          'queue, then say --assume committed or --assume rolled-back',
      );
    }
    await pause(OPEN_PAUSE_MS);
  }
  throw new UnavailableError(`transaction ${tx} of the run before is still open: does that import run?`);
}

function spaceOf({ msgid }: TPQCTL): string {
  return Buffer.from(msgid ?? [])
    .toString('latin1')
    .slice(0, SPACE_DIGITS);
}

/** Lines that go in one transaction. */
interface Batch {
  readonly messages: { readonly number: number; readonly message: ParsedMessage }[];
  bytes: number;
  from: number;
  to: number;
}

class Import {
  /** Messages on the queue, those of earlier runs too. */
  count: number;
  private readonly ctx: Context;
  private readonly target: Target;
  private readonly state: ImportState;
  private readonly start: Start;

  constructor(ctx: Context, about: { target: Target; state: ImportState; start: Start }) {
    this.ctx = ctx;
    this.target = about.target;
    this.state = about.state;
    this.start = about.start;
    this.count = about.start.messages;
  }

  async run(show: (count: number) => void): Promise<void> {
    let batch = emptyBatch(this.start.position);
    for await (const line of linesOf(this.target.path)) {
      if (line.end <= this.start.position) continue;
      if (line.fault !== '') throw this.failed(line.number, new Error(`${line.fault}: the file has changed`));
      add(batch, line);
      if (batch.messages.length < BATCH_MESSAGES && batch.bytes < BATCH_BYTES) continue;
      await this.put(batch);
      show(this.count);
      batch = emptyBatch(batch.to);
    }
    await this.put(batch);
  }

  private async put({ messages, from, to }: Batch): Promise<void> {
    const { ctx, state, target } = this;
    if (messages.length === 0) return;
    await ctx.tpbegin(TRANSACTION_S);
    const results = await Promise.allSettled(
      messages.map(({ message: { ctl, buffer } }) => ctx.tpenqueue(target.qspace, target.queue, ctl, buffer)),
    );
    const at = results.findIndex(({ status }) => status === 'rejected');
    const result = results[at];
    if (result?.status === 'rejected') {
      await ctx.tpabort().catch(() => undefined);
      throw this.failed(messages[at]?.number ?? 0, result.reason);
    }
    const first = messages[0]?.message.ctl ?? new TPQCTL();
    const step = { tx: ctx.transactionId ?? '', from, to, before: this.count, messages: messages.length };
    await state.note({ ...step, space: spaceOf(first) });
    await ctx.tpcommit();
    this.count += messages.length;
  }

  /** Names the line; what the error is stays. */
  private failed(number: number, error: unknown): unknown {
    if (!(error instanceof Error)) return error;
    process.stderr.write(
      `${this.target.path}:${number}: this message could not be put; ${this.count} are on the queue, and another run goes on from there\n`,
    );
    return TpError.is(error) ? error : new UsageError(error.message);
  }
}

function emptyBatch(from: number): Batch {
  return { messages: [], bytes: 0, from, to: from };
}

function add(batch: Batch, { number, message, end }: FileLine): void {
  if (message !== null) {
    batch.messages.push({ number, message });
    batch.bytes += message.buffer?.data?.length ?? 0;
  }
  batch.to = end;
}
