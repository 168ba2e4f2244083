// `tmqueue reload`: the running daemon reads its configuration again, and the answer lists what changed, or why nothing has.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { ReloadAnswer, ReloadItem } from '../../clients/typescript/index.ts';
import { formatFault } from '../ubb/fault.ts';
import { withContext, type ConnectOptions } from './connect.ts';
import { EXIT } from './exit.ts';

interface ReloadOptions extends ConnectOptions {
  readonly config?: string;
  readonly json?: boolean;
}

export function addReload(
  tmqueue: Command,
  done: (work: Promise<number>) => void,
  connect: readonly [flags: string, description: string],
): void {
  tmqueue
    .command('reload')
    .description(
      'have the running daemon read its UBBCONFIG again: queues, forwarders and services, all or nothing',
    )
    .option('-c, --config <file>', 'another file, on the machine of the daemon and in the folder of its own')
    .option(...connect)
    .option('--json', 'print the answer as JSON')
    .action((options: ReloadOptions) => done(reload(options)));
}

function reload(options: ReloadOptions): Promise<number> {
  const { config, json } = options;
  return withContext(options, async (ctx) => {
    const answer = await ctx.reload(config === undefined ? undefined : resolve(config));
    if (json === true) process.stdout.write(`${JSON.stringify(answer)}\n`);
    else print(answer);
    return answer.outcome === 'refused' ? EXIT.REFUSED : EXIT.OK;
  });
}

function print({ outcome, items, unlisted }: ReloadAnswer): void {
  const out = outcome === 'refused' ? process.stderr : process.stdout;
  for (const item of items) out.write(`${lineOf(item)}\n`);
  if (unlisted > 0) out.write(`… and ${unlisted} more, in the daemon's log\n`);
  if (outcome === 'refused') out.write('tmqueue: not reloaded: nothing has changed\n');
  if (outcome === 'unchanged') out.write('nothing to change\n');
}

function lineOf({ kind, text, file, line, column }: ReloadItem): string {
  if (kind === 'fault') return formatFault({ file, line, column, word: '', message: text });
  return kind === 'note' ? `note: ${text}` : text;
}
