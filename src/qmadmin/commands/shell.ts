// The conveniences of the shell itself: echo, verbose, paginate, history, help, quit [spec 5.1].
import { command, synopsis, type Command, type Shell } from '../command.ts';
import { printJson } from '../listing.ts';
import { RefusedError } from '../port.ts';
import { onOrOff } from '../values.ts';

const STATE = {
  state: { subject: 'state', omittable: true, completes: ['on', 'off'], parse: onOrOff },
} as const;

export const echo = command<{ state?: boolean }, object>({
  name: 'echo',
  abbreviations: ['e'],
  summary: 'show each input line after its prompt; without on or off: flip',
  arguments: STATE,
  options: {},
  run(shell, { state }) {
    shell.echo = state ?? !shell.echo;
    shell.tell(`echo is ${shell.echo ? 'on' : 'off'}`);
  },
});

export const verbose = command<{ state?: boolean }, object>({
  name: 'verbose',
  abbreviations: ['v'],
  summary: 'longer listings; without on or off: flip',
  arguments: STATE,
  options: {},
  run(shell, { state }) {
    shell.verbose = state ?? !shell.verbose;
    shell.tell(`verbose is ${shell.verbose ? 'on' : 'off'}`);
  },
});

export const paginate = command<{ state?: boolean }, object>({
  name: 'paginate',
  abbreviations: ['page'],
  summary: 'stop long listings at the end of each screen, at a terminal; without on or off: flip',
  arguments: STATE,
  options: {},
  run(shell, { state }) {
    shell.paginate = state ?? !shell.paginate;
    shell.tell(`paginate is ${shell.paginate ? 'on' : 'off'}`);
  },
});

export const history = command<object, object>({
  name: 'history',
  abbreviations: [],
  summary: 'the lines of this session so far',
  arguments: {},
  options: {},
  run(shell) {
    for (const [i, line] of shell.history.entries()) {
      if (shell.json) printJson(shell, { number: i + 1, line });
      else shell.print(`${i + 1}  ${line}`);
    }
  },
});

export const quit = command<object, object>({
  name: 'quit',
  abbreviations: ['q'],
  summary: 'leave; so does the end of the input',
  arguments: {},
  options: {},
  run(shell) {
    shell.leaving = true;
  },
});

const CONVENIENCES = [
  ['!COMMAND', 'run COMMAND by the system shell; !! runs the last one again'],
  ['# …', 'a comment'],
] as const;

export const help = command<{ command?: string }, object>({
  name: 'help',
  abbreviations: ['h'],
  summary: 'the commands, or one of them',
  arguments: {
    command: {
      subject: 'command',
      omittable: true,
      completes: 'command',
      parse: (value) => ({ ok: true, value }),
    },
  },
  options: {},
  run(shell, { command: name }) {
    const shown = name === undefined ? shell.commands : [named(shell, name)];
    if (shell.json) {
      for (const one of shown)
        printJson(shell, { name: one.name, synopsis: synopsis(one), summary: one.summary });
      return;
    }
    for (const one of shown) {
      shell.print(synopsis(one));
      shell.print(`    ${one.summary}`);
    }
    if (name !== undefined) return;
    for (const [words, summary] of CONVENIENCES) {
      shell.print(words);
      shell.print(`    ${summary}`);
    }
  },
});

function named({ commands }: Shell, name: string): Command {
  const wanted = name.toLowerCase();
  const found = commands.find((one) => one.name === wanted || one.abbreviations.includes(wanted));
  if (found === undefined) throw new RefusedError(`there is no command ${name}; help lists them`);
  return found;
}
