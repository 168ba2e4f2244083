// Which commands there are, and which one a word means [spec 5.2]. Names and abbreviations are the same in capitals [spec 5.1, D].
import { nearest } from '../base/similar.ts';
import type { Command } from './command.ts';
import { chdl, crdl, dsdl, lidl, livtoc } from './commands/device.ts';
import { ipcrm, ipcs } from './commands/ipc.ts';
import {
  qchangeexptime,
  qchangeprio,
  qchangequeue,
  qchangetime,
  qdeletemsg,
} from './commands/message-changes.ts';
import { qlist, qpeek, qscan, qset } from './commands/messages.ts';
import { qchange, qcreate, qdestroy, qinfo, qpause, qresume } from './commands/queue.ts';
import { qredrive } from './commands/redrive.ts';
import { echo, help, history, paginate, quit, verbose } from './commands/shell.ts';
import { qclose, qopen, qspacecreate, qspacelist } from './commands/space.ts';
import { qaddext, qsize, qspacechange, qspacedestroy } from './commands/space-change.ts';
import { qaborttrans, qcommittrans, qprinttrans } from './commands/transactions.ts';
import { quoteWord } from './words.ts';

/** In the order in which `help` lists them. */
export const COMMANDS: readonly Command[] = [
  crdl,
  chdl,
  dsdl,
  lidl,
  livtoc,
  qspacecreate,
  qspacechange,
  qspacelist,
  qspacedestroy,
  qaddext,
  qsize,
  ipcs,
  ipcrm,
  qopen,
  qclose,
  qcreate,
  qchange,
  qdestroy,
  qpause,
  qresume,
  qinfo,
  qredrive,
  qset,
  qscan,
  qlist,
  qpeek,
  qdeletemsg,
  qchangeprio,
  qchangequeue,
  qchangetime,
  qchangeexptime,
  qprinttrans,
  qcommittrans,
  qaborttrans,
  echo,
  verbose,
  paginate,
  history,
  help,
  quit,
];

const BY_WORD = new Map(
  COMMANDS.flatMap((one) => [one.name, ...one.abbreviations].map((word) => [word, one])),
);
/** The command, or why there is none. */
export function findCommand(word: string): Command | string {
  const wanted = word.toLowerCase();
  const found = BY_WORD.get(wanted);
  if (found !== undefined) return found;
  const known = [...BY_WORD.keys()].filter((name) => name.length > 2);
  const near = nearest(
    wanted,
    known.map((name) => name.toUpperCase()),
  )?.toLowerCase();
  const hint = near === undefined ? 'help lists the commands' : `did you mean ${near}?`;
  return `there is no command ${quoteWord(word)}; ${hint}`;
}
