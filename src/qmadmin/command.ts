// What a command is: its names, the questions whose answers it needs, its dash options, and what it does. Must not know how the answers are
// got (dialogue.ts) or which commands there are (table.ts).
import type { Parsed } from '../queue/words.ts';
import type { DevicePort, MessageCriteria, SpacePort } from './port.ts';

/** A positional argument, which is also a question. */
export interface Argument<T> {
  /** What it is, in a few words: the prompt, and the subject of every complaint. */
  readonly subject: string;
  /** Choices that the prompt lists. */
  readonly choices?: string;
  /** What an empty answer means; without it an answer is needed. */
  readonly fallback?: string;
  /** Never asked for: the value is undefined when the line does not give it. */
  readonly omittable?: true;
  /** What a terminal completes it from. */
  readonly completes?: Completes;
  readonly parse: (word: string) => Parsed<T>;
}

export type Completes = 'space' | 'queue' | 'command' | readonly string[];

/** A dash option with its value. Never asked for [spec 5.1]. */
export interface Option<T> {
  readonly subject: string;
  /** It stands alone, and is true when it is there. */
  readonly isFlag?: true;
  readonly parse: (word: string) => Parsed<T>;
}

export const FLAG: Option<boolean> = { subject: '', isFlag: true, parse: () => ({ ok: true, value: true }) };

/** Members in the order of the prompts. */
export type Arguments<V> = { readonly [K in keyof V]-?: Argument<Exclude<V[K], undefined>> };
/** By letter. */
export type Options<O> = { readonly [K in keyof O]-?: Option<Exclude<O[K], undefined>> };

export interface CommandSpec<V, O> {
  readonly name: string;
  readonly abbreviations: readonly string[];
  /** One line for `help`. */
  readonly summary: string;
  readonly arguments: Arguments<V>;
  readonly options: Options<O>;
  /** Rejects with a RefusedError when it cannot be done. */
  readonly run: (shell: Shell, values: V, options: O) => Promise<void> | void;
}

/** A command whose own types nobody needs any more. */
export interface Command {
  readonly name: string;
  readonly abbreviations: readonly string[];
  readonly summary: string;
  readonly arguments: Readonly<Record<string, Argument<unknown>>>;
  readonly options: Readonly<Record<string, Option<unknown>>>;
  readonly run: (shell: Shell, values: Values, options: Values) => Promise<void> | void;
}

export type Values = Readonly<Record<string, unknown>>;

/** The answers that reach `run` were parsed by the very descriptions that give V and O their types. */
export function command<V extends object, O extends object>(spec: CommandSpec<V, O>): Command {
  return {
    ...spec,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
    run: (shell, values, options) => spec.run(shell, values as V, options as O),
  };
}

/** The messages that commands about messages mean. */
export interface Selected {
  readonly space: SpacePort;
  /** null: no qset yet. */
  readonly queue: string | null;
  readonly criteria: MessageCriteria;
}

/** What a command works on and speaks through. */
export interface Shell {
  readonly device: DevicePort;
  readonly commands: readonly Command[];
  /** The open space, or null. */
  space: SpacePort | null;
  verbose: boolean;
  echo: boolean;
  paginate: boolean;
  /** Every line that was carried out, the oldest first. */
  readonly history: readonly string[];
  leaving: boolean;
  /** Listings are JSON lines, for programs. */
  readonly json: boolean;
  /** What qset and qscan said, for the space that was open then. */
  selected: Selected | null;
  /** A line of a listing, on standard output. */
  print(line: string): void;
  /** A word for a person who waits for one; a script gets none. */
  tell(text: string): void;
  /** On standard error; no failure. */
  warn(text: string): void;
  /** Asks a person whether to go on: `destroy queue Q`. A script is not asked: yes. */
  confirm(what: string): Promise<boolean>;
  /** Whether the operator wants no more of this listing; asking once is enough. */
  isBroken(): Promise<boolean>;
}

/** `qspacecreate (qspc) [-A actions] … [name ipckey …]` */
export function synopsis({ name, abbreviations, arguments: positional, options }: Command): string {
  const short = abbreviations.length === 0 ? '' : ` (${abbreviations.join(', ')})`;
  const dashed = Object.entries(options).map(
    ([letter, option]) => ` [-${`${letter} ${option.subject}`.trim()}]`,
  );
  const keys = Object.keys(positional);
  return `${name}${short}${dashed.join('')}${keys.length === 0 ? '' : ` [${keys.join(' ')}]`}`;
}
