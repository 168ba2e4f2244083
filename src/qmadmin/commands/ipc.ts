// What of a queue space is in memory: ipcs, ipcrm [spec 5.2, 8.2]. There are no System V resources here; a space that a process has open is
// the same thing, and what removing it loses is the same too: the non-persistent messages.
import { command, FLAG } from '../command.ts';
import { printTable, type Cell } from '../listing.ts';
import { RefusedError, type SpaceUse } from '../port.ts';
import { quoteWord } from '../words.ts';
import { closeHere, EXISTING_SPACE } from './space.ts';

const COLUMNS = ['SPACE', 'STATE', 'IPCKEY', 'MESSAGES', 'NONPERSIST', 'BYTES', 'TRANS'];

export const ipcs = command<{ space?: string }, object>({
  name: 'ipcs',
  abbreviations: [],
  summary: 'list what of the queue spaces, or of one, is in memory',
  arguments: { space: { ...EXISTING_SPACE, omittable: true } },
  options: {},
  async run(shell, { space }) {
    const all = await shell.device.spaces();
    const shown = space === undefined ? all : all.filter(({ name }) => name === space);
    if (space !== undefined && shown.length === 0) {
      throw new RefusedError(
        `queue space ${quoteWord(space)} does not exist on device ${quoteWord(shell.device.path)}`,
      );
    }
    printTable(shell, COLUMNS, shown.map(rowOf));
  },
});

function rowOf(use: SpaceUse): Cell[] {
  const { name, state, ipcKey, messages, nonPersistentMessages, nonPersistentBytes, transactions } = use;
  const counts = [ipcKey, messages, nonPersistentMessages, nonPersistentBytes, transactions];
  return [{ name }, state, ...counts.map((count) => (state === 'closed' ? null : count))];
}

export const ipcrm = command<{ space: string }, { f?: boolean; y?: boolean }>({
  name: 'ipcrm',
  abbreviations: [],
  summary:
    'remove a queue space from memory, with its non-persistent messages; -f also when a daemon serves it',
  arguments: { space: EXISTING_SPACE },
  options: { f: FLAG, y: FLAG },
  async run(shell, { space }, { f: force = false, y = false }) {
    const what = `remove queue space ${quoteWord(space)} from memory, and all its non-persistent messages`;
    if (!y && !(await shell.confirm(what))) return;
    await closeHere(shell, space);
    const count = await shell.device.removeMemory(space, { force });
    shell.tell(`queue space ${quoteWord(space)}: ${count} non-persistent messages are gone`);
  },
});
