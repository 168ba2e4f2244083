// A command's arguments from the rest of its line, then from the lines that follow, one answer a line [spec 5.1]. Invariants: a command runs
// only with every answer given and right; in a script a wrong answer is noted and the other answers are still read, so that none of them is
// taken for a command. Must not know what the command does.
import type { Argument, Command, Option, Values } from './command.ts';
import type { Input } from './lines.ts';
import { quoteWord, splitLine } from './words.ts';

/** What is wrong, and in which line. */
export interface Fault {
  readonly line: number;
  readonly text: string;
}

export type Gathered =
  | { readonly kind: 'ready'; readonly values: Values; readonly options: Values }
  | { readonly kind: 'faulty'; readonly faults: readonly Fault[] }
  /** The operator broke it off. */
  | { readonly kind: 'broken' };

export interface Answers {
  readonly isTerminal: boolean;
  ask(prompt: string): Promise<Input>;
  /** The answer was not taken, and is asked for again. */
  complain(line: number, text: string): void;
}

/** `words` are those behind the command's name, which stands in `line`. */
export async function gather(
  command: Command,
  { words, line }: { words: readonly string[]; line: number },
  answers: Answers,
): Promise<Gathered> {
  const faults: Fault[] = [];
  const note = (text: string, at = line): void => void faults.push({ line: at, text });
  const options: Record<string, unknown> = {};
  const given = readOptions(command.options, { words, values: options, note });
  const values: Record<string, unknown> = {};
  const positional = Object.entries(command.arguments);
  const surplus = given.slice(positional.length);
  if (surplus.length > 0) note(`too many arguments: ${surplus.map(quoteWord).join(' ')}`);
  for (const [i, [key, argument]] of positional.entries()) {
    const word = given[i];
    if (word === undefined) continue;
    const taken = take(argument, word);
    if ('problem' in taken) note(taken.problem);
    else values[key] = taken.value;
  }
  // A person can type the line again; a script's answers have to be passed over.
  if (answers.isTerminal && faults.length > 0) return { kind: 'faulty', faults };
  for (const [key, argument] of positional.slice(given.length)) {
    if (argument.omittable === true) continue;
    const answer = await askUntilTaken(argument, answers);
    if (answer.kind === 'broken') return { kind: 'broken' };
    if (answer.kind === 'wrong') note(answer.problem, answer.line);
    else if (answer.kind === 'taken') values[key] = answer.value;
    else {
      note(`the input ends at the question for the ${argument.subject}: nothing was done`);
      break;
    }
  }
  return faults.length > 0 ? { kind: 'faulty', faults } : { kind: 'ready', values, options };
}

interface OptionsRead {
  readonly words: readonly string[];
  readonly values: Record<string, unknown>;
  readonly note: (text: string) => void;
}

/** Dash options come first, as with getopt; `--` ends them. Returns the words behind them. */
function readOptions(
  known: Readonly<Record<string, Option<unknown>>>,
  { words, values, note }: OptionsRead,
): readonly string[] {
  let rest = words;
  for (;;) {
    const [word, ...others] = rest;
    if (word === undefined || !word.startsWith('-') || word === '-') return rest;
    rest = others;
    if (word === '--') return rest;
    const letter = word.charAt(1);
    const option = Object.hasOwn(known, letter) ? known[letter] : undefined;
    if (option === undefined) {
      const legal = Object.keys(known).map((one) => `-${one}`);
      note(`no option ${quoteWord(word)}; legal: ${legal.length === 0 ? 'none' : legal.join(', ')}`);
      continue;
    }
    if (option.isFlag === true) {
      values[letter] = true;
      // Flags may stand together, as in -fy.
      if (word.length > 2) rest = [`-${word.slice(2)}`, ...others];
      continue;
    }
    const value = word.length > 2 ? word.slice(2) : others[0];
    if (word.length === 2) rest = others.slice(1);
    if (value === undefined) note(`-${letter} needs a value: ${option.subject}`);
    else {
      const parsed = option.parse(value);
      if (parsed.ok) values[letter] = parsed.value;
      else note(`-${letter} ${shownValue(value)} is not legal; legal: ${parsed.legal}`);
    }
  }
}

type Taken = { readonly value: unknown } | { readonly problem: string };

function take(argument: Argument<unknown>, word: string): Taken {
  const { fallback, subject } = argument;
  const text = word === '' && fallback !== undefined ? fallback : word;
  const parsed = argument.parse(text);
  if (parsed.ok) return { value: parsed.value };
  return { problem: `${subject}: ${shownValue(word)} is not legal; legal: ${parsed.legal}` };
}

function shownValue(word: string): string {
  return word === '' ? 'an empty value' : quoteWord(word);
}

type Answer =
  | { readonly kind: 'taken'; readonly value: unknown }
  | { readonly kind: 'wrong'; readonly problem: string; readonly line: number }
  | { readonly kind: 'ended' }
  | { readonly kind: 'broken' };

async function askUntilTaken(argument: Argument<unknown>, answers: Answers): Promise<Answer> {
  for (;;) {
    const input = await answers.ask(promptOf(argument));
    if (input.kind === 'end') return { kind: 'ended' };
    if (input.kind === 'break') return { kind: 'broken' };
    const { number } = input;
    const answer = input.kind === 'bad' ? { problem: input.problem } : answerOf(input.text);
    if ('word' in answer && answer.word === '' && argument.fallback === undefined && !answer.quoted) {
      answers.complain(number, `${argument.subject}: an answer is needed`);
      continue;
    }
    const taken = 'word' in answer ? take(argument, answer.word) : answer;
    if (!('problem' in taken)) return { kind: 'taken', value: taken.value };
    if (!answers.isTerminal) return { kind: 'wrong', problem: taken.problem, line: number };
    answers.complain(number, taken.problem);
  }
}

function promptOf({ subject, choices, fallback }: Argument<unknown>): string {
  const listed = choices === undefined ? '' : ` (${choices})`;
  const shown = fallback === undefined ? '' : ` [default=${fallback === '' ? 'none' : fallback}]`;
  return `${subject.charAt(0).toUpperCase()}${subject.slice(1)}${listed}${shown}: `;
}

/** An answer is the whole line, without the blanks around it; quotes around all of it are taken off. */
function answerOf(line: string): { word: string; quoted: boolean } | { problem: string } {
  const text = line.replace(/^[ \t]+|[ \t]+$/g, '');
  const split = splitLine(text);
  if (!split.ok) return { problem: split.problem };
  const [first, second] = split.words;
  if (first === undefined || second !== undefined) return { word: text, quoted: false };
  return { word: first, quoted: first !== text };
}
