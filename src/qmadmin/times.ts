// Moments in words: `+seconds`, and `YY[MM[DD[hh[mm[ss]]]]]` in the time zone of whoever types it [spec 5.2]; and how listings write one.
import { LEGAL_MOMENT, localSeconds } from '../../proto/moment.ts';
import type { GivenTime } from '../queue/command.ts';
import { CLOCK } from '../queue/event.ts';
import type { TimeRange } from '../queue/selection.ts';
import type { Parsed } from '../queue/words.ts';

/** For prompts. */
export const momentChoices = '+seconds, YY[MM[DD[hh[mm[ss]]]]]';
const MS = 1000;

export function parseMoment(word: string): Parsed<GivenTime> {
  const relative = /^\+(\d{1,10})$/.exec(word);
  if (relative !== null) return { ok: true, value: { clock: CLOCK.SPACE, seconds: Number(relative[1]) } };
  const seconds = localSeconds(word);
  return seconds === null
    ? { ok: false, legal: LEGAL_MOMENT }
    : { ok: true, value: { clock: CLOCK.WALL, seconds } };
}

export function parseExpiryMoment(word: string): Parsed<GivenTime | 'none'> {
  if (word === 'none') return { ok: true, value: word };
  const parsed = parseMoment(word);
  return parsed.ok ? parsed : { ok: false, legal: `none, ${parsed.legal}` };
}

/** `time1[-time2]`. */
export function parseMoments(word: string): Parsed<TimeRange> {
  const [first = '', second = first, ...rest] = word.split('-');
  const [from, to] = [parseMoment(first), parseMoment(second)];
  if (from.ok && to.ok && rest.length === 0) return { ok: true, value: { from: from.value, to: to.value } };
  return { ok: false, legal: `time1[-time2], each ${LEGAL_MOMENT}` };
}

/** `none` selects those that never expire. */
export function parseExpiryMoments(word: string): Parsed<TimeRange | 'none'> {
  return word === 'none' ? { ok: true, value: word } : parseMoments(word);
}

/** To the second, in the time zone of whoever reads it. */
export function momentText(wallMs: number): string {
  const date = new Date(wallMs);
  if (Number.isNaN(date.getTime())) return String(wallMs);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

export function givenText({ clock, seconds }: GivenTime): string {
  return clock === CLOCK.SPACE ? `+${seconds}` : momentText(seconds * MS);
}
