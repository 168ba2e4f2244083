// What could stand where a line ends, for a terminal: commands, then what the command's argument there is [spec 5.1]. Must not know how names of
// spaces and queues are got.
import type { Command, Completes } from './command.ts';
import { quoteWord, splitLine } from './words.ts';

export interface Names {
  readonly commands: readonly Command[];
  spaces(): Promise<readonly string[]>;
  /** Of the open space; none: nothing. */
  queues(): Promise<readonly string[]>;
}

/** Words as a line writes them, and the part of the line that they begin with. */
export type Completed = readonly [readonly string[], string];

/** At the prompt for commands. */
export async function completeCommand(line: string, names: Names): Promise<Completed> {
  const part = lastPart(line);
  const before = splitLine(line.slice(0, line.length - part.length));
  if (!before.ok) return [[], part];
  const [word, ...words] = before.words;
  if (word === undefined) return completeFrom(part, 'command', names);
  const wanted = word.toLowerCase();
  const command = names.commands.find((one) => one.name === wanted || one.abbreviations.includes(wanted));
  if (command === undefined) return [[], part];
  if (part.startsWith('-')) {
    const options = Object.keys(command.options).map((letter) => `-${letter}`);
    return [options.filter((option) => option.startsWith(part)), part];
  }
  const argument = Object.values(command.arguments)[words.length - optionWords(command, words)];
  return argument?.completes === undefined ? [[], part] : completeFrom(part, argument.completes, names);
}

/** At the question for an argument. */
export function completeAnswer(
  line: string,
  completes: Completes | undefined,
  names: Names,
): Promise<Completed> {
  const part = line.trimStart();
  return completes === undefined ? Promise.resolve([[], part]) : completeFrom(part, completes, names);
}

async function completeFrom(part: string, completes: Completes, names: Names): Promise<Completed> {
  const words = await wordsFor(completes, names);
  // A command may be written in capitals.
  const begin = completes === 'command' ? part.toLowerCase() : part;
  return [words.filter((word) => word.startsWith(begin)).map((word) => `${word} `), part];
}

async function wordsFor(completes: Completes, names: Names): Promise<readonly string[]> {
  if (typeof completes !== 'string') return completes;
  if (completes === 'command') return names.commands.map(({ name }) => name).sort();
  const found = completes === 'space' ? await names.spaces() : await names.queues();
  return found.map(quoteWord);
}

/** How many of the words are dash options and their values. */
function optionWords({ options }: Command, words: readonly string[]): number {
  let at = 0;
  for (;;) {
    const word = words[at];
    if (word === undefined || !/^-./.test(word)) return at;
    at++;
    if (word === '--') return at;
    if (word.length === 2 && options[word.charAt(1)]?.isFlag !== true) at++;
  }
}

/** From the last blank that no quote holds. */
function lastPart(line: string): string {
  let start = 0;
  let quote = '';
  for (const [i, c] of Array.from(line).entries()) {
    if (quote !== '') quote = c === quote ? '' : quote;
    else if (c === '"' || c === "'") quote = c;
    else if (c === ' ' || c === '\t') start = i + 1;
  }
  return Array.from(line).slice(start).join('');
}
