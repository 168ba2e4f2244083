// `tmqueue redrive QSPACE QUEUE`: messages of an error queue back to where each came from, on a running daemon. Ctrl-C ends it between two
// messages and still tells how many went.
import { type Command, InvalidArgumentError } from 'commander';
import type { QueueAdmin, Redriven, RedriveOptions } from '../../clients/typescript/index.ts';
import { withContext, type ConnectOptions } from './connect.ts';
import { EXIT } from './exit.ts';
import { parseMsgidText } from './input.ts';
import { Progress } from './progress.ts';
import { redrivenLines } from '../qmadmin/redriven.ts';

interface Options extends ConnectOptions {
  readonly to?: string;
  readonly origin?: string;
  readonly reason?: string;
  readonly msgid?: readonly string[];
  readonly limit?: number;
  readonly rate?: number;
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

/** An option's flags and its text. */
type Flags = readonly [flags: string, description: string];

/** Between two looks at how far it is, in milliseconds. */
const LOOK_MS = 500;

export function addRedrive(tmqueue: Command, done: (work: Promise<number>) => void, connect: Flags): void {
  tmqueue
    .command('redrive')
    .description('move the messages of an error queue back to the queue that each came from')
    .argument('<qspace>', 'the name under which TMQUEUE offers the queue space')
    .argument('<queue>', 'the error queue')
    .option('--to <queue>', 'to this queue, instead of where each came from')
    .option('--origin <queue>', 'only what came from a queue of this name')
    .option('--reason <reason>', 'only what came for this reason, e.g. service-failed or timeout')
    .option(
      '--msgid <id>',
      'only this message, repeatable: the 32 characters that enqueue printed',
      collectMsgids,
    )
    .option('--limit <n>', 'so many messages at most', parseCount)
    .option('--rate <n>', 'so many messages a second', parseCount)
    .option('--dry-run', 'move nothing: only say what would be moved, and what would stay')
    .option(...connect)
    .option('--json', 'print JSON')
    .action((qspace: string, queue: string, options: Options) => done(redrive(qspace, queue, options)));
}

async function redrive(qspace: string, qname: string, options: Options): Promise<number> {
  const { to, origin, reason, msgid, limit, rate, dryRun, json } = options;
  const asked: RedriveOptions = {
    ...(to === undefined ? {} : { to }),
    ...(origin === undefined ? {} : { origin }),
    ...(reason === undefined ? {} : { reason }),
    ...(msgid === undefined ? {} : { msgids: msgid }),
    ...(limit === undefined ? {} : { limit }),
    ...(rate === undefined ? {} : { rate }),
    ...(dryRun === undefined ? {} : { dryRun }),
  };
  return withContext(options, async (ctx) => {
    const admin = ctx.admin(qspace);
    const result = await whileWatched(admin, { qname, limit: limit ?? Infinity }, (signal) =>
      admin.redrive(qname, { ...asked, signal }),
    );
    const lines =
      json === true
        ? [JSON.stringify(result)]
        : redrivenLines(result, { dryRun: dryRun === true, name: (queue) => queue });
    process.stdout.write(`${lines.join('\n')}\n`);
    return isWhole(result, dryRun === true) ? EXIT.OK : EXIT.REFUSED;
  });
}

/** Everything that was asked for went, or was looked at. */
function isWhole(result: Redriven, dryRun: boolean): boolean {
  const { end, queues, held, missing } = result;
  if (end !== 'done') return end === 'limit';
  return dryRun || (held + missing === 0 && queues.every(({ outcome }) => outcome === 'moved'));
}

/** Runs `work` with a signal that Ctrl-C and SIGTERM abort; at a terminal a bar shows how far it is. */
async function whileWatched(
  admin: QueueAdmin,
  { qname, limit }: { qname: string; limit: number },
  work: (signal: AbortSignal) => Promise<Redriven>,
): Promise<Redriven> {
  const stop = new AbortController();
  const abort = (): void => stop.abort();
  process.once('SIGINT', abort).once('SIGTERM', abort);
  const progress = new Progress(`redriving ${qname}`);
  let total = 0;
  const look = async (): Promise<void> => {
    const { messages } = await admin.info(qname);
    total = Math.max(total, messages);
    progress.show(total - messages, Math.min(total, limit));
  };
  // What cannot be shown is no reason to fail.
  const timer = process.stderr.isTTY ? setInterval(() => void look().catch(() => {}), LOOK_MS) : undefined;
  try {
    return await work(stop.signal);
  } finally {
    clearInterval(timer);
    progress.clear();
    process.off('SIGINT', abort).off('SIGTERM', abort);
  }
}

function collectMsgids(word: string, before: readonly string[] | undefined): readonly string[] {
  return [...(before ?? []), parseMsgidText(word)];
}

function parseCount(word: string): number {
  const value = /^\d{1,15}$/.test(word) ? Number(word) : 0;
  if (value >= 1) return value;
  throw new InvalidArgumentError('It must be a whole number from 1 on.');
}
