// Processor time of a process, user and system, from /proc/PID/stat (Linux; in ticks of 10 ms, so measure over seconds).
import { readFileSync } from 'node:fs';

const US_PER_TICK = 10_000;
/** Fields behind the command's closing parenthesis, which may itself contain spaces: utime is the 12th, stime the 13th. */
const UTIME_AT = 11;

/** Microseconds of processor time that the process has used so far; 0 when it is gone. */
export function cpuTimeUs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[UTIME_AT]) + Number(fields[UTIME_AT + 1])) * US_PER_TICK;
  } catch {
    return 0;
  }
}

/** The first child of a process, or 0: the traced program behind strace. */
export function firstChildOf(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').split(' ')[0]);
  } catch {
    return 0;
  }
}
