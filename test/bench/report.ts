// The table that `npm run bench` prints.
import { medianFigures, spreadOf, type Figures } from './figures.ts';
import type { Round, RunName } from './round.ts';
import { besidePeers, ratio, rowsOf, verdicts, type Row, type Verdict } from './thresholds.ts';

export interface Report {
  readonly text: string;
  readonly verdicts: readonly Verdict[];
  readonly medians: Partial<Record<RunName, Figures>>;
}

/** Clean passes differ by so much on the project's kind of machine [PERFORMANCE.md]. */
const QUIET_SPREAD = 1.4;
const HEADS = [
  '',
  'msg/s',
  'spread',
  'MB/s',
  'p50 ms',
  'p99 ms',
  'server us',
  'load us',
  'msg/sync',
  '/ sync',
  '/ bare',
  'target',
];

export function report(rounds: readonly Round[]): Report {
  const medians = mediansOf(rounds);
  const lines = [HEADS];
  for (const row of rowsOf(medians)) {
    const figures = medians[row.name];
    if (figures !== undefined) lines.push(cells(row, figures, rounds));
  }
  const judged = verdicts(rounds, medians);
  const text = [
    table(lines),
    '',
    `Medians of ${rounds.length} round(s); a ratio is the median of the rounds' own ratios. spread: range of the rounds' rates,` +
      ' of the median. us: processor time a message.',
    spread(rounds),
    ...extras(medians),
    ...besidePeers(rounds),
    ...judged.map((verdict) => `${verdict.holds ? 'holds ' : 'FAILS '} ${verdict.text}`),
  ].join('\n');
  return { text, verdicts: judged, medians };
}

/** How quiet the machine was: what the same bare run came to in different rounds. */
function spread(rounds: readonly Round[]): string {
  const rates = rounds.map((round) => round['bare W3']?.rate).filter((rate) => rate !== undefined);
  const [least, most] = [Math.min(...rates), Math.max(...rates)];
  const times = most / least;
  const doubt = times > QUIET_SPREAD ? ' The machine was not quiet: take the figures with care.' : '';
  return `The bare pipeline W3 of the fastest round was ${times.toFixed(1)} times that of the slowest.${doubt}`;
}

function mediansOf(rounds: readonly Round[]): Partial<Record<RunName, Figures>> {
  const medians: Partial<Record<RunName, Figures>> = {};
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a Round are names of runs
  const names = new Set(rounds.flatMap((round) => Object.keys(round) as RunName[]));
  for (const name of names) {
    const runs = rounds.map((round) => round[name]).filter((run) => run !== undefined);
    if (runs.length > 0) medians[name] = medianFigures(runs);
  }
  return medians;
}

function cells(row: Row, figures: Figures, rounds: readonly Round[]): string[] {
  const part = (against: RunName | undefined) => {
    const value = against === undefined || against === row.name ? NaN : ratio(rounds, row.name, against);
    return Number.isNaN(value) ? '' : value.toFixed(2);
  };
  const rates = rounds.flatMap((round) => round[row.name]?.rate ?? []);
  return [
    row.title,
    Math.round(figures.rate).toLocaleString('en'),
    fixed(100 * spreadOf(rates), 0, ' %'),
    fixed((figures.rate * (row.bodyBytes ?? NaN)) / 1e6, 0),
    fixed(figures.p50Us / 1000, 2),
    fixed(figures.p99Us / 1000, 2),
    fixed(figures.serverUs, 1),
    fixed(figures.loadUs, 1),
    fixed(figures.messagesPerSync, 1),
    part('sync'),
    part(row.bare),
    row.target,
  ];
}

/** '' for what was not measured. */
function fixed(value: number, digits: number, unit = ''): string {
  return Number.isFinite(value) ? value.toFixed(digits) + unit : '';
}

/** What only some workloads have. */
function extras(medians: Partial<Record<RunName, Figures>>): string[] {
  return rowsOf(medians).flatMap(({ name, title }) => {
    const extra = Object.entries(medians[name]?.extra ?? {});
    if (extra.length === 0) return [];
    const figures = extra.map(([what, value]) => `${value.toLocaleString('en', DIGITS)} ${what}`);
    return [`${title.trim()}: ${figures.join(', ')}`];
  });
}
const DIGITS = { maximumFractionDigits: 1 };

/** Columns of equal width; the first and the last to the left. */
function table(lines: readonly (readonly string[])[]): string {
  const widths = HEADS.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const left = (column: number) => column === 0 || column === HEADS.length - 1;
  return lines
    .map((line) =>
      line
        .map((cell, column) => (left(column) ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
