// Moments as operators write them: `YY[MM[DD[hh[mm[ss]]]]]` in the time zone of whoever writes or reads it [spec 5.2, 7.3]. For qmadmin and the
// MIB. Pure but for the process's time zone.

/** What is legal beside `+seconds`. */
export const LEGAL_MOMENT =
  '+seconds, or YY[MM[DD[hh[mm[ss]]]]] with the years 70..99 (1970..1999) and 00..37 (2000..2037)';
const ABSOLUTE = /^(\d\d)(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?$/;
const MS = 1000;

/** Seconds since 1970, or null: it is no moment. Omitted fields take their minimum. */
export function localSeconds(word: string): number | null {
  const match = ABSOLUTE.exec(word);
  if (match === null) return null;
  const [yy = 0, month = 1, day = 1, ...time] = match
    .slice(1)
    .map((text) => (text === undefined ? undefined : Number(text)));
  const [hour = 0, minute = 0, second = 0] = time;
  if (yy > 37 && yy < 70) return null;
  const year = yy < 70 ? 2000 + yy : 1900 + yy;
  const date = new Date(year, month - 1, day, hour, minute, second);
  // What is no date, like February 30th, would be another one.
  const isDate =
    date.getMonth() === month - 1 && date.getDate() === day && hour < 24 && minute < 60 && second < 60;
  return isDate && date.getTime() >= 0 ? Math.floor(date.getTime() / MS) : null;
}

/** `YYMMDDhhmmss`; with all four digits of a year that two cannot tell. */
export function momentDigits(wallMs: number): string {
  const date = new Date(wallMs);
  const year = date.getFullYear();
  const yy = year >= 1970 && year <= 2037 ? two(year % 100) : String(year).padStart(4, '0');
  const day = `${yy}${two(date.getMonth() + 1)}${two(date.getDate())}`;
  return `${day}${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
