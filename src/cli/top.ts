// `tmqueue top`: what the daemon does, live on a terminal; one picture where there is none; a snapshot a line as JSON.
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { Context, Statistics } from '../../clients/typescript/index.ts';
import { withContext, type ConnectOptions } from './connect.ts';
import { EXIT } from './exit.ts';
import { parseSeconds } from './input.ts';
import { snapshotOf, SORT_KEYS, type Snapshot, type SortKey } from './rates.ts';
import { Screen } from './screen.ts';
import { topLines } from './top-view.ts';

export interface TopOptions extends ConnectOptions {
  readonly interval: number;
  readonly sort: SortKey;
  readonly count?: number;
  readonly json?: boolean;
}

/** Seconds between two pictures. */
const INTERVAL_S = { DEFAULT: 2, MIN: 0.2, MAX: 3600 } as const;
const QUIT: ReadonlySet<string> = new Set(['q', 'Q', '\x03', '\x04']);
/** Of a screen whose terminal does not say how large it is. */
const SIZE = { WIDTH: 80, HEIGHT: 24 } as const;

export function addTop(
  tmqueue: Command,
  done: (work: Promise<number>) => void,
  connect: readonly [flags: string, description: string],
): void {
  tmqueue
    .command('top')
    .description('watch queues, forwarders and spaces; without a terminal one picture of them')
    .argument('[qspace]', 'only this queue space')
    .option(
      '-i, --interval <s>',
      `seconds between two pictures, ${INTERVAL_S.MIN} to ${INTERVAL_S.MAX}`,
      parseInterval,
      INTERVAL_S.DEFAULT,
    )
    .addOption(
      new Option('-s, --sort <key>', 'what the queues are sorted by, the most first')
        .choices(SORT_KEYS)
        .default('messages' satisfies SortKey),
    )
    .option('-n, --count <n>', 'end after so many pictures', parseCount)
    .option(...connect)
    .option('--json', 'print a JSON object a line for each picture')
    .action((qspace: string | undefined, options: TopOptions) => done(top(qspace, options)));
}

function parseInterval(word: string): number {
  const seconds = parseSeconds(word);
  if (seconds >= INTERVAL_S.MIN && seconds <= INTERVAL_S.MAX) return seconds;
  throw new InvalidArgumentError(`It must be a number of seconds ${INTERVAL_S.MIN}..${INTERVAL_S.MAX}.`);
}

function parseCount(word: string): number {
  if (/^[1-9]\d{0,8}$/.test(word)) return Number(word);
  throw new InvalidArgumentError('It must be a whole number from 1.');
}

function top(qspace: string | undefined, options: TopOptions): Promise<number> {
  return withContext(options, async (ctx) => {
    const isLive = process.stdout.isTTY && options.json !== true;
    const watch = new Watch(ctx, { ...options, qspace });
    await (isLive ? live(watch, options) : plain(watch, options));
    return EXIT.OK;
  });
}

/** Pictures one after the other, an interval apart. */
class Watch {
  private readonly ctx: Context;
  private readonly options: TopOptions & { readonly qspace: string | undefined };
  private before: { readonly found: Statistics; readonly atMs: number } | null = null;
  private wake: () => void = () => {};
  ended = false;

  constructor(ctx: Context, options: TopOptions & { readonly qspace: string | undefined }) {
    this.ctx = ctx;
    this.options = options;
  }

  /** Waits for the end of the interval, but not for the first picture. */
  async next(): Promise<Snapshot> {
    if (this.before !== null) await this.pause();
    const found = await this.ctx.stat(this.options.qspace);
    const atMs = performance.now();
    const { before } = this;
    this.before = { found, atMs };
    return snapshotOf(before?.found ?? found, found, before === null ? 1 : (atMs - before.atMs) / 1000);
  }

  /** The interval is over, or everything. */
  hurry(): void {
    this.wake();
  }
  end(): void {
    this.ended = true;
    this.wake();
  }

  private pause(): Promise<void> {
    if (this.ended) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.options.interval * 1000);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Rates need two pictures: the first is not shown. */
async function plain(
  watch: Watch,
  { sort, json, count = json === true ? Infinity : 1 }: TopOptions,
): Promise<void> {
  process.stdout.on('close', () => watch.end());
  await watch.next();
  for (let shown = 0; shown < count && !watch.ended; shown++) {
    const snapshot = await watch.next();
    if (watch.ended) return;
    const lines = topLines(snapshot, { sort, width: Infinity, height: Infinity });
    const text =
      json === true ? JSON.stringify({ time: new Date().toISOString(), ...snapshot }) : lines.join('\n');
    process.stdout.write(`${text}\n`);
  }
}

async function live(watch: Watch, options: TopOptions): Promise<void> {
  let { sort } = options;
  let snapshot: Snapshot | null = null;
  const draw = (): void => {
    if (snapshot === null) return;
    const [width, height] = [screen.width || SIZE.WIDTH, screen.height || SIZE.HEIGHT];
    const lines = topLines(snapshot, { sort, width, height: height - 1 });
    const foot = `every ${options.interval} s, by ${sort}   q quit   s sort   space now`;
    screen.draw([
      ...lines,
      ...Array<string>(Math.max(0, height - 1 - lines.length)).fill(''),
      foot.slice(0, width),
    ]);
  };
  const key = (pressed: string): void => {
    if (QUIT.has(pressed)) return watch.end();
    if (pressed === ' ') return watch.hurry();
    if (pressed !== 's') return undefined;
    sort = SORT_KEYS[(SORT_KEYS.indexOf(sort) + 1) % SORT_KEYS.length] ?? sort;
    return draw();
  };
  const [input, output] = [process.stdin, process.stdout];
  const screen = new Screen({ input, output, key, resized: draw, ended: () => watch.end() });
  try {
    for (let shown = 0; shown < (options.count ?? Infinity) && !watch.ended; shown++) {
      snapshot = await watch.next();
      if (!watch.ended) draw();
    }
  } finally {
    screen.close();
  }
}
