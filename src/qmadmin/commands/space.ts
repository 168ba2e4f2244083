// Queue spaces: qspacecreate, qspacelist, qopen, qclose [spec 5.2, 5.3].
import { SPACE_DEFAULTS, type SpaceAttributes } from '../../queue/attributes.ts';
import { LogError } from '../../wal/log-store.ts';
import { printTable, type Cell } from '../listing.ts';
import { command, type Arguments, type Option, type Options, type Shell } from '../command.ts';
import { RefusedError, type SpaceChanges, type SpacePort } from '../port.ts';
import { errorQueueName, LONG_MAX, memory, number, spaceName, yesOrNo } from '../values.ts';
import { quoteWord } from '../words.ts';

/** Below this vendor scripts have keys too: warned about, not refused [spec 5.3, D]. */
const IPCKEY_USUAL_MIN = 32_769;
const IPCKEY_MAX = 262_143;

export interface SpaceAnswers {
  readonly name: string;
  readonly ipckey: number;
  readonly pages: number;
  readonly queues: number;
  readonly trans: number;
  readonly procs: number;
  readonly msgs: number;
  readonly errorq: string;
  readonly inityn: boolean;
  readonly blocking: number;
}

/** Letters as the manual has them. */
export interface SpaceOptions {
  readonly A?: number;
  readonly H?: number;
  readonly C?: number;
  readonly O?: number;
  readonly Q?: number;
  readonly f?: number;
  readonly n?: number;
  readonly o?: number;
}

const count = (subject: string): Option<number> => ({ subject, parse: number(0, LONG_MAX) });

export const SPACE_ARGUMENTS: Arguments<SpaceAnswers> = {
  name: { subject: 'queue space name', parse: spaceName },
  ipckey: { subject: 'IPC key', parse: number(1, IPCKEY_MAX) },
  pages: { subject: 'size in pages', parse: number(1, LONG_MAX) },
  queues: { subject: 'number of queues', parse: number(1, LONG_MAX) },
  trans: { subject: 'number of concurrent transactions', parse: number(1, LONG_MAX) },
  procs: { subject: 'number of concurrent processes', parse: number(1, LONG_MAX) },
  msgs: { subject: 'number of messages', parse: number(1, LONG_MAX) },
  errorq: { subject: 'error queue name', fallback: '', parse: errorQueueName },
  inityn: { subject: 'initialise extents', choices: 'y, n', fallback: 'n', parse: yesOrNo },
  blocking: { subject: 'blocking factor', fallback: '16', parse: number(1, 100) },
};

export const SPACE_OPTIONS: Options<SpaceOptions> = {
  A: count('actions'),
  H: count('handles'),
  C: count('cursors'),
  O: count('owners'),
  Q: count('tmp_queues'),
  f: count('filter_mem'),
  n: { subject: 'nonpersistent_mem[b|B]', parse: memory },
  o: count('overflow_mem'),
};

/** The name of a space that is there. */
export const EXISTING_SPACE = { subject: 'queue space name', completes: 'space', parse: spaceName } as const;

/** Also for qspacechange. */
export function warnOfKey(shell: Shell, ipckey: number): void {
  if (ipckey >= IPCKEY_USUAL_MIN) return;
  shell.warn(
    `IPC key ${ipckey} is below ${IPCKEY_USUAL_MIN}; it has no effect here, and the command was done`,
  );
}

export const qspacecreate = command<SpaceAnswers, SpaceOptions>({
  name: 'qspacecreate',
  abbreviations: ['qspc'],
  summary: 'create a queue space on pages of the device list',
  arguments: SPACE_ARGUMENTS,
  options: SPACE_OPTIONS,
  async run(shell, answers, options) {
    const { name, ipckey } = answers;
    // The pages are laid out before the space is there, whatever `inityn` says: as much as either answer asks for.
    await shell.device.createSpace(attributesOf(answers, options));
    warnOfKey(shell, ipckey);
    shell.tell(`queue space ${quoteWord(name)} was created`);
  },
});

function attributesOf(answers: SpaceAnswers, options: SpaceOptions): SpaceAttributes {
  const { name, pages, queues } = answers;
  return { ...SPACE_DEFAULTS, name, pages, queues, ...changesIn(answers), ...optionsIn(options) };
}

/** What qspacecreate and qspacechange both ask, as attributes. */
export function changesIn(answers: Omit<SpaceAnswers, 'name' | 'pages' | 'queues'>): SpaceChanges {
  const { ipckey, trans, procs, msgs, errorq, blocking } = answers;
  return {
    ipcKey: ipckey,
    transactions: trans,
    processes: procs,
    messages: msgs,
    errorQueue: errorq,
    blocking,
  };
}

/** Those that are given. */
export function optionsIn({ A, H, C, O, Q, f, n, o }: SpaceOptions): SpaceChanges {
  return {
    ...(A === undefined ? {} : { actions: A }),
    ...(H === undefined ? {} : { handles: H }),
    ...(C === undefined ? {} : { cursors: C }),
    ...(O === undefined ? {} : { owners: O }),
    ...(Q === undefined ? {} : { temporaryQueues: Q }),
    ...(f === undefined ? {} : { filterBytes: f }),
    ...(n === undefined ? {} : { nonPersistentBytes: n }),
    ...(o === undefined ? {} : { overflowBytes: o }),
  };
}

const COLUMNS = ['NAME', 'IPCKEY', 'PAGES', 'QUEUES', 'TRANS', 'PROCS', 'MSGS', 'ERRORQ', 'BLOCKING'];
const MORE_COLUMNS = [
  'ACTIONS',
  'NONPERSIST',
  'HANDLES',
  'CURSORS',
  'OWNERS',
  'TMPQUEUES',
  'FILTER',
  'OVERFLOW',
];

export const qspacelist = command<{ name?: string }, object>({
  name: 'qspacelist',
  abbreviations: ['qspl'],
  summary: 'show with what the queue spaces, or one, were created',
  arguments: { name: { ...EXISTING_SPACE, omittable: true } },
  options: {},
  async run(shell, { name }) {
    const spaces = name === undefined ? await shell.device.spaces() : [{ name }];
    const rows: Cell[][] = [];
    const unread: string[] = [];
    for (const { name: one } of spaces) {
      try {
        rows.push(rowOf(await attributesIn(shell, one), shell.verbose));
      } catch (error) {
        // The others are listed all the same.
        if (error instanceof RefusedError) unread.push(error.message);
        else if (error instanceof LogError) unread.push(`queue space ${quoteWord(one)}: ${error.message}`);
        else throw error;
      }
    }
    const header = shell.verbose ? [...COLUMNS, ...MORE_COLUMNS] : COLUMNS;
    printTable(shell, header, rows);
    if (unread.length > 0) throw new RefusedError(unread.join('; '));
  },
});

function attributesIn(shell: Shell, name: string): Promise<SpaceAttributes> {
  return shell.space?.name === name ? shell.space.attributes() : shell.device.attributes(name);
}

function rowOf(space: SpaceAttributes, verbose: boolean): Cell[] {
  const { ipcKey, pages, queues, transactions, processes, messages } = space;
  const {
    actions,
    nonPersistentBytes,
    handles,
    cursors,
    owners,
    temporaryQueues,
    filterBytes,
    overflowBytes,
  } = space;
  const row = [
    { name: space.name },
    ipcKey,
    pages,
    queues,
    transactions,
    processes,
    messages,
    { name: space.errorQueue },
    space.blocking,
  ];
  if (!verbose) return row;
  const more = [
    actions,
    nonPersistentBytes,
    handles,
    cursors,
    owners,
    temporaryQueues,
    filterBytes,
    overflowBytes,
  ];
  return [...row, ...more];
}

export const qopen = command<{ name: string }, object>({
  name: 'qopen',
  abbreviations: ['qo'],
  summary: 'open a queue space: the commands for queues work on it from then on',
  arguments: { name: EXISTING_SPACE },
  options: {},
  async run(shell, { name }) {
    if (shell.space?.name === name && (await isUsable(shell.space))) return;
    // First of all: when this fails, no later command may work on the space before.
    await closeSpace(shell);
    shell.space = await shell.device.openSpace(name);
    shell.tell(`queue space ${quoteWord(name)} is open, ${shell.device.reached}`);
  },
});

/** Whether what is open still is: the log may have failed, the daemon may be another one. */
async function isUsable(space: SpacePort): Promise<boolean> {
  if (space.failed) return false;
  return space.attributes().then(
    () => true,
    () => false,
  );
}

export const qclose = command<object, object>({
  name: 'qclose',
  abbreviations: ['qc'],
  summary: 'close the open queue space',
  arguments: {},
  options: {},
  async run(shell) {
    const { name } = openSpaceOf(shell);
    await closeSpace(shell);
    shell.tell(`queue space ${quoteWord(name)} is closed`);
  },
});

/** Closes what is open; also for the end of the session. */
export async function closeSpace(shell: Shell): Promise<void> {
  const { space } = shell;
  shell.space = null;
  await space?.close();
}

export function openSpaceOf({ space }: Shell): NonNullable<Shell['space']> {
  if (space === null) throw new RefusedError('no queue space is open; first: qopen SPACE');
  return space;
}

/** A command that needs the space closed closes it here first [spec 5.2, ipcrm and qaddext]. */
export async function closeHere(shell: Shell, name: string): Promise<void> {
  if (shell.space?.name === name) await closeSpace(shell);
}
