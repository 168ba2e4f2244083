// The values that qmadmin's questions and options take, beside the words of queue/words.ts. Each function gives a value or what would be
// legal. The numbers are those of the message catalogue [spec 5.4]. Must not know which command asks.
import { isAbsolute, resolve } from 'node:path';
import { LIMIT } from '../../proto/codes.ts';
import { PAGE_BYTES } from '../queue/attributes.ts';
import { nameFits, parseThreshold, utf8Bytes, type Parsed, type Threshold } from '../queue/words.ts';

export const LONG_MAX = 2_147_483_647;
/** A queue's threshold command, in bytes: < 128 [spec 5.4]. */
const COMMAND_BYTES_MAX = 127;
/** TA_QMCONFIG takes 78; here a path may be as long as the system's. */
const PATH_BYTES_MAX = 4095;

export function spaceName(word: string): Parsed<string> {
  return name(word, LIMIT.TMQSNAMELEN);
}

export function queueName(word: string): Parsed<string> {
  return name(word, LIMIT.TMQNAMELEN);
}

function name(word: string, bytesMax: number): Parsed<string> {
  if (nameFits(word, bytesMax)) return { ok: true, value: word };
  return { ok: false, legal: `1..${bytesMax} bytes without control characters` };
}

/** '' when there is to be none. */
export function errorQueueName(word: string): Parsed<string> {
  if (word === '') return { ok: true, value: word };
  return spaceName(word);
}

/** An absolute path. */
export function devicePath(word: string): Parsed<string> {
  const fits = nameFits(word, PATH_BYTES_MAX);
  if (!fits) return { ok: false, legal: `a path of 1..${PATH_BYTES_MAX} bytes without control characters` };
  return { ok: true, value: isAbsolute(word) ? word : resolve(word) };
}

/** A whole number in decimal digits. */
export function number(min: number, max: number, unit = ''): (word: string) => Parsed<number> {
  return (word) => {
    const value = /^[0-9]{1,15}$/.test(word) ? Number(word) : Number.NaN;
    if (value >= min && value <= max) return { ok: true, value };
    return { ok: false, legal: `${unit === '' ? 'a whole number' : unit}, ${min}..${max}` };
  };
}

export function yesOrNo(word: string): Parsed<boolean> {
  const letter = word.toLowerCase();
  if (letter === 'y' || letter === 'n') return { ok: true, value: letter === 'y' };
  return { ok: false, legal: 'y or n' };
}

/** `on` or `off`. */
export function onOrOff(word: string): Parsed<boolean> {
  const state = word.toLowerCase();
  if (state === 'on' || state === 'off') return { ok: true, value: state === 'on' };
  return { ok: false, legal: 'on or off' };
}

/** Bytes: a number with `b`, or blocks: with `B` or no suffix [spec 5.3]. */
export function memory(word: string): Parsed<number> {
  const match = /^([0-9]{1,12})([bB]?)$/.exec(word);
  const bytes = Number(match?.[1]) * (match?.[2] === 'b' ? 1 : PAGE_BYTES);
  if (match !== null && Number.isSafeInteger(bytes)) return { ok: true, value: bytes };
  return { ok: false, legal: 'a number with b (bytes), B or no suffix (blocks of 512 bytes)' };
}

export function policy(word: string): Parsed<'persist' | 'nonpersist'> {
  if (word === 'persist' || word === 'nonpersist') return { ok: true, value: word };
  return { ok: false, legal: 'persist or nonpersist' };
}

export function thresholdCommand(word: string): Parsed<string> {
  const printable = Array.from(word).every((c) => c >= ' ' || c === '\t');
  if (utf8Bytes(word) <= COMMAND_BYTES_MAX && printable) return { ok: true, value: word };
  return { ok: false, legal: `at most ${COMMAND_BYTES_MAX} bytes without control characters (1215)` };
}

/** The high limit must be something [1205, 1206, 1207]. */
export function highLimit(word: string): Parsed<Threshold> {
  const parsed = parseThreshold(word);
  if (!parsed.ok) return { ok: false, legal: `${parsed.legal} (${limitNumber(word)})` };
  if (parsed.value.amount > 0) return parsed;
  return { ok: false, legal: 'more than 0, with b, B, m or % (1207)' };
}

function limitNumber(word: string): number {
  if (/^[0-9]+%$/.test(word)) return 1207;
  return /^[0-9]/.test(word) ? 1205 : 1206;
}

/** The limits and the command for non-persistent messages, `nhigh,nlow,ncmd`: what is left out has its default. */
export interface NonPersistentThreshold {
  readonly high: Threshold;
  readonly low: Threshold;
  readonly cmd: string;
}

export function nonPersistentThreshold(word: string): Parsed<NonPersistentThreshold> {
  const [highWord = '', lowWord = '', ...rest] = word.split(',');
  const cmd = rest.join(',');
  const high = highLimit(highWord === '' ? '100%' : highWord);
  const low = parseThreshold(lowWord === '' ? '0' : lowWord);
  const run = thresholdCommand(cmd === 'none' ? '' : cmd);
  if (!high.ok || !low.ok || !run.ok || high.value.unit === 'm') {
    return { ok: false, legal: 'high,low,command with limits in b, B or %, such as 80%,10%,none' };
  }
  return { ok: true, value: { high: high.value, low: low.value, cmd: run.value } };
}
