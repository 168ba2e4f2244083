// CLOPT to options [spec 6.6, 4.1, 4.2]. Owns the splitting of the text and getopt's rules: options glued to their value or apart,
// several letters in one word, `--`, comma lists. Must not know what a server does with an option (roles.ts). Every option keeps the
// place of its letter in the text, so that a fault can point at it.

export interface Option {
  /** One letter. */
  readonly name: string;
  /** Its argument; '' for an option that takes none. */
  readonly argument: string;
  /** Where in the text its letter, or the argument when there is one, begins. */
  readonly index: number;
}

export interface Problem {
  readonly index: number;
  readonly word: string;
  readonly message: string;
}

export interface OptionList {
  readonly options: readonly Option[];
  /** Words that are no options, in order. */
  readonly operands: readonly Word[];
  readonly problems: readonly Problem[];
}

/** Options before `--` (servopts) and the words after it. */
export interface Clopt {
  readonly servopts: OptionList;
  readonly uargs: readonly Word[];
}

export interface Word {
  readonly text: string;
  readonly index: number;
}

/** What servers in general understand; a colon follows a letter that takes an argument [spec 6.6]. */
export const SERVOPTS = 'As:e:o:p:hl:n:rtv';
export const TMQUEUE_OPTIONS = 't:';
export const TMQFORWARD_OPTIONS = 'q:t:i:ednf:b:';
/** Those of the workstation listener that take an argument; the rest are letters alone. Only -n means something here. */
export const WSL_OPTIONS = 'n:d:w:t:T:m:M:x:p:P:I:c:k:K:z:Z:H:N:S:R:v:XasuUAr';

/** The words of a text: separated by blanks, tabs and line ends; quotes keep a word with blanks together (our reading). */
export function splitWords(text: string): Word[] {
  const words: Word[] = [];
  const pattern = /(?:[^\s"']|"[^"]*"|'[^']*'|["'])+/g;
  for (const match of text.matchAll(pattern)) {
    words.push({ text: match[0].replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'), index: match.index });
  }
  return words;
}

export function parseClopt(text: string, servopts = SERVOPTS): Clopt {
  const words = splitWords(text);
  const end = endOfOptions(words, servopts);
  return { servopts: parseOptions(words.slice(0, end), servopts), uargs: words.slice(end + 1) };
}

/** The place of the `--` that ends the servopts; an argument that happens to be `--` does not end them. */
function endOfOptions(words: readonly Word[], known: string): number {
  for (let at = 0; at < words.length; at += 1) {
    const text = words[at]?.text ?? '';
    if (text === '--') return at;
    if (isOptionWord(text) && wantsNextWord(text, known)) at += 1;
  }
  return words.length;
}

function isOptionWord(text: string): boolean {
  return text.length > 1 && text.startsWith('-');
}

/** The last letter of a cluster takes an argument and nothing is glued to it. */
function wantsNextWord(text: string, known: string): boolean {
  for (let at = 1; at < text.length; at += 1) {
    if (takesArgument(text.charAt(at), known)) return at === text.length - 1;
  }
  return false;
}

function takesArgument(letter: string, known: string): boolean {
  const at = letter === ':' ? -1 : known.indexOf(letter);
  return at >= 0 && known[at + 1] === ':';
}

/** As getopt reads them, except that a word that is no option does not end the options but is kept as an operand. */
export function parseOptions(words: readonly Word[], known: string): OptionList {
  const options: Option[] = [];
  const operands: Word[] = [];
  const problems: Problem[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at];
    if (word === undefined || word.text === '--') continue;
    if (!isOptionWord(word.text)) {
      operands.push(word);
      continue;
    }
    const letters = Array.from(word.text).slice(1);
    for (let i = 0; i < letters.length; i += 1) {
      const name = letters[i] ?? '';
      const index = word.index + 1 + i;
      if (name === ':' || !known.includes(name)) {
        problems.push({
          index,
          word: `-${name}`,
          message: `-${name} is no option here; legal: ${describe(known)}`,
        });
        break;
      }
      if (!takesArgument(name, known)) {
        options.push({ name, argument: '', index });
        continue;
      }
      const glued = letters.slice(i + 1).join('');
      const next = words[at + 1];
      if (glued !== '') options.push({ name, argument: glued, index: index + 1 });
      else if (next !== undefined && next.text !== '--') {
        options.push({ name, argument: next.text, index: next.index });
        at += 1;
      } else problems.push({ index, word: `-${name}`, message: `-${name} needs an argument` });
      break;
    }
  }
  return { options, operands, problems };
}

/** `q:t:e` as `-q x -t x -e`, for messages. */
function describe(known: string): string {
  return Array.from(
    known.matchAll(/(\w)(:?)/g),
    (match) => `-${match[1] ?? ''}${match[2] === ':' ? ' x' : ''}`,
  ).join(' ');
}

/** The items of a comma list with their places; blank items are kept, so that the caller can refuse them. */
export function splitList(option: Option): Word[] {
  const items: Word[] = [];
  let index = option.index;
  for (const text of option.argument.split(',')) {
    items.push({ text, index });
    index += text.length + 1;
  }
  return items;
}

/** The argument of -t and -i: seconds; undefined when it is to be ignored with a warning [spec 4.2]. */
export function parseSeconds(text: string): number | undefined {
  if (!/^[0-9]{1,10}$/.test(text)) return undefined;
  const seconds = Number(text);
  return seconds < 2_147_483_648 ? seconds : undefined;
}
