// What becomes of queue spaces that are there: qspacechange, qaddext, qspacedestroy; and qsize [spec 5.2, 5.3]. The space is closed here first, and
// must not be served by a daemon.
import { PAGE_BYTES } from '../../queue/attributes.ts';
import { SEGMENT_BYTES_DEFAULT } from '../../wal/local/segment.ts';
import { command, FLAG } from '../command.ts';
import { printTable } from '../listing.ts';
import { LONG_MAX, number } from '../values.ts';
import { quoteWord } from '../words.ts';
import {
  changesIn,
  closeHere,
  EXISTING_SPACE,
  optionsIn,
  SPACE_ARGUMENTS,
  SPACE_OPTIONS,
  type SpaceAnswers,
  type SpaceOptions,
  warnOfKey,
} from './space.ts';

const { name: _name, pages: _pages, queues: _queues, ...CHANGING } = SPACE_ARGUMENTS;

export const qspacechange = command<Omit<SpaceAnswers, 'pages' | 'queues'>, SpaceOptions>({
  name: 'qspacechange',
  abbreviations: ['qspch'],
  summary: 'change a queue space; its pages are added by qaddext, its number of queues stays',
  arguments: { name: EXISTING_SPACE, ...CHANGING },
  options: SPACE_OPTIONS,
  async run(shell, answers, options) {
    const { name, ipckey } = answers;
    await closeHere(shell, name);
    await shell.device.changeSpace(name, { ...changesIn(answers), ...optionsIn(options) });
    warnOfKey(shell, ipckey);
    shell.tell(`queue space ${quoteWord(name)} was changed`);
  },
});

export const qaddext = command<{ space: string; pages: number }, object>({
  name: 'qaddext',
  abbreviations: [],
  summary: 'give a queue space more pages of the device list',
  arguments: {
    space: EXISTING_SPACE,
    pages: { subject: 'number of pages', parse: number(1, LONG_MAX) },
  },
  options: {},
  async run(shell, { space, pages }) {
    await closeHere(shell, space);
    await shell.device.addPages(space, pages);
    shell.tell(`queue space ${quoteWord(space)} has ${pages} pages more; it is closed`);
  },
});

export const qspacedestroy = command<{ space: string }, { f?: boolean; y?: boolean }>({
  name: 'qspacedestroy',
  abbreviations: ['qspds'],
  summary: 'destroy a queue space that holds no messages; -f with its messages',
  arguments: { space: EXISTING_SPACE },
  options: { f: FLAG, y: FLAG },
  async run(shell, { space }, { f: force = false, y = false }) {
    const what = `queue space ${quoteWord(space)}${force ? ' with all its messages' : ''}`;
    if (!y && !(await shell.confirm(`destroy ${what}`))) return;
    await closeHere(shell, space);
    const count = await shell.device.destroySpace(space, { force });
    const load = count === null ? ', which could not be read' : ` with ${count} messages`;
    shell.tell(`queue space ${quoteWord(space)} was destroyed${load}`);
  },
});

/** What a message, a queue and a transaction take of the daemon's memory at most; `npm run bench:memory` measures it. */
const MESSAGE_BYTES = 160;
const QUEUE_BYTES = 4096;
const TRANSACTION_BYTES = 8192;
/** The log has at most twice what is live, and so many segments more; a checkpoint so many bytes a message, twice while it is replaced. */
const SEGMENTS = 4;
const CHECKPOINT_BYTES = 2 * 128;

type SizeAnswers = Pick<SpaceAnswers, 'pages' | 'queues' | 'trans' | 'procs' | 'msgs'>;

export const qsize = command<SizeAnswers, SpaceOptions>({
  name: 'qsize',
  abbreviations: [],
  summary: 'say what memory and disk a queue space of this size takes at most; nothing is created',
  arguments: {
    pages: SPACE_ARGUMENTS.pages,
    queues: SPACE_ARGUMENTS.queues,
    trans: SPACE_ARGUMENTS.trans,
    procs: SPACE_ARGUMENTS.procs,
    msgs: SPACE_ARGUMENTS.msgs,
  },
  options: SPACE_OPTIONS,
  run(shell, { pages, queues, trans, msgs }, { n: nonPersistentBytes = 0 }) {
    const memory =
      msgs * MESSAGE_BYTES + queues * QUEUE_BYTES + trans * TRANSACTION_BYTES + nonPersistentBytes;
    const disk = 2 * pages * PAGE_BYTES + SEGMENTS * SEGMENT_BYTES_DEFAULT + msgs * CHECKPOINT_BYTES;
    // Nothing is shared between processes: the daemon keeps a queue space in its own memory.
    printTable(
      shell,
      ['MEMORY', 'NONPERSIST', 'DISK', 'SEMAPHORES'],
      [[memory, nonPersistentBytes, disk, 0]],
    );
  },
});
