// Which commands there are, and which one a word means [spec 5.2]. Names and abbreviations are the same in capitals [spec 5.1, D].
import { nearest } from '../base/similar.ts';
import type { Command } from './command.ts';
import { crdl, lidl } from './commands/device.ts';
import {
  qchangeexptime,
  qchangeprio,
  qchangequeue,
  qchangetime,
  qdeletemsg,
} from './commands/message-changes.ts';
import { qlist, qpeek, qscan, qset } from './commands/messages.ts';
import { qchange, qcreate, qinfo } from './commands/queue.ts';
import { qredrive } from './commands/redrive.ts';
import { echo, help, quit, verbose } from './commands/shell.ts';
import { qclose, qopen, qspacecreate, qspacelist } from './commands/space.ts';
import { qaborttrans, qcommittrans, qprinttrans } from './commands/transactions.ts';
import { NOT_YET } from './not-yet.ts';
import { quoteWord } from './words.ts';

/** In the order in which `help` lists them. */
export const COMMANDS: readonly Command[] = [
  crdl,
  lidl,
  qspacecreate,
  qspacelist,
  qopen,
  qclose,
  qcreate,
  qchange,
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
  help,
  quit,
];

const BY_WORD = new Map(
  COMMANDS.flatMap((one) => [one.name, ...one.abbreviations].map((word) => [word, one])),
);
const LATER = new Map(
  Object.entries(NOT_YET).flatMap(([name, short]) => [name, ...short].map((word) => [word, name] as const)),
);

/** The command, or why there is none. */
export function findCommand(word: string): Command | string {
  const wanted = word.toLowerCase();
  const found = BY_WORD.get(wanted);
  if (found !== undefined) return found;
  const later = LATER.get(wanted);
  if (later !== undefined) return `not yet supported: the command ${later}`;
  const known = [...BY_WORD.keys(), ...LATER.keys()].filter((name) => name.length > 2);
  const near = nearest(
    wanted,
    known.map((name) => name.toUpperCase()),
  )?.toLowerCase();
  const hint = near === undefined ? 'help lists the commands' : `did you mean ${near}?`;
  return `there is no command ${quoteWord(word)}; ${hint}`;
}
