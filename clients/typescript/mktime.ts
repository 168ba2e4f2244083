// gp_mktime [spec 3.7]: a broken-down local time to seconds, for TPQTIME_ABS and TPQEXPTIME_ABS.

/** C's struct tm: months and days of the year and week from 0, years from 1900. */
export interface Tm {
  tm_sec: number;
  tm_min: number;
  tm_hour: number;
  tm_mday: number;
  tm_mon: number;
  tm_year: number;
  /** Filled in. */
  tm_wday?: number;
  /** Filled in. */
  tm_yday?: number;
  /** Above 0: the time is meant as daylight saving time; 0: as standard time; below, or absent: as it is in force then. Filled in. */
  tm_isdst?: number;
}

const DAY_MS = 86_400_000;

/** Brings the members of `tm` into their ranges, fills in the rest; seconds since the epoch, or -1: it cannot be expressed [gp_mktime(3c)]. */
export function gp_mktime(tm: Tm): number {
  const members = [tm.tm_year + 1900, tm.tm_mon, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec] as const;
  if (!members.every(Number.isInteger)) return -1;
  const [year, month, day, hour, minute, second] = members;
  const date = new Date(2000, 0, 1);
  date.setFullYear(year, month, day);
  date.setHours(hour, minute, second, 0);
  const meant = tm.tm_isdst ?? -1;
  if (meant >= 0 && meant > 0 !== isDst(date)) {
    date.setTime(date.getTime() + (meant > 0 ? -1 : 1) * savingMs(date));
  }
  const seconds = date.getTime() / 1000;
  if (!Number.isFinite(seconds)) return -1;
  tm.tm_sec = date.getSeconds();
  tm.tm_min = date.getMinutes();
  tm.tm_hour = date.getHours();
  tm.tm_mday = date.getDate();
  tm.tm_mon = date.getMonth();
  tm.tm_year = date.getFullYear() - 1900;
  tm.tm_wday = date.getDay();
  const dayOf = Date.UTC(2000, date.getMonth(), date.getDate());
  const leap = new Date(Date.UTC(2000, 0, 1));
  leap.setUTCFullYear(date.getFullYear());
  const today = new Date(dayOf);
  today.setUTCFullYear(date.getFullYear());
  tm.tm_yday = Math.round((today.getTime() - leap.getTime()) / DAY_MS);
  tm.tm_isdst = isDst(date) ? 1 : 0;
  return seconds;
}

/** Milliseconds by which the clock is put forward in the date's year; 0: it is not. */
function savingMs(date: Date): number {
  const [january, july] = [0, 6].map((month) => new Date(date.getFullYear(), month, 1).getTimezoneOffset());
  return Math.abs((january ?? 0) - (july ?? 0)) * 60_000;
}

function isDst(date: Date): boolean {
  const offsets = [0, 6].map((month) => new Date(date.getFullYear(), month, 1).getTimezoneOffset());
  return date.getTimezoneOffset() < Math.max(...offsets);
}
