// Transactions with work in the open space: qprinttrans, qcommittrans, qaborttrans [spec 5.2, 7.4].
import { command, FLAG, type Arguments, type Shell } from '../command.ts';
import { printTable } from '../listing.ts';
import { LONG_MAX, number } from '../values.ts';
import { openSpaceOf } from './space.ts';

export const qprinttrans = command<object, object>({
  name: 'qprinttrans',
  abbreviations: ['qpt'],
  summary: 'list the outstanding transactions; verbose adds those that qcommittrans and qaborttrans decided',
  arguments: {},
  options: {},
  async run(shell) {
    const found = await openSpaceOf(shell).transactions(shell.verbose);
    const rows = found.map(({ index, id, state }) => [index, id, state]);
    printTable(shell, ['INDEX', 'TRANSACTION', 'STATE'], rows);
  },
});

const INDEX: Arguments<{ index: number }> = {
  index: { subject: 'index of the transaction', parse: number(1, LONG_MAX) },
};

async function end(
  shell: Shell,
  index: number,
  { y = false, commit }: { y?: boolean; commit: boolean },
): Promise<void> {
  const space = openSpaceOf(shell);
  const word = commit ? 'commit' : 'roll back';
  if (!y && !(await shell.confirm(`${word} transaction ${index} here, whatever it comes to elsewhere`)))
    return;
  await space.endTransaction(index, commit);
  shell.tell(`transaction ${index} was ${commit ? 'committed' : 'rolled back'} in this space`);
}

export const qcommittrans = command<{ index: number }, { y?: boolean }>({
  name: 'qcommittrans',
  abbreviations: ['qcommit'],
  summary: 'commit a prepared transaction in this space by your own decision',
  arguments: INDEX,
  options: { y: FLAG },
  run: (shell, { index }, { y = false }) => end(shell, index, { y, commit: true }),
});

export const qaborttrans = command<{ index: number }, { y?: boolean }>({
  name: 'qaborttrans',
  abbreviations: ['qabort', 'qrollbacktrans'],
  summary: 'roll a prepared transaction back in this space by your own decision',
  arguments: INDEX,
  options: { y: FLAG },
  run: (shell, { index }, { y = false }) => end(shell, index, { y, commit: false }),
});
