// Processor time and memory of a process and all below it, from /proc.
import { readdirSync, readFileSync } from 'node:fs';

const US_PER_TICK = 10_000;
/** Fields behind the command's closing parenthesis: utime, stime and those of the children that have ended. */
const TIMES_AT = [11, 12, 13, 14] as const;

/** Microseconds so far, those of ended children included. */
export function treeCpuUs(pid: number): number {
  return treeOf(pid).reduce((sum, one) => sum + cpuUs(one), 0);
}

/** Bytes of memory, shared pages counted once. */
export function treeMemory(pid: number): number {
  return treeOf(pid).reduce((sum, one) => sum + memoryOf(one), 0);
}

function treeOf(pid: number): number[] {
  const below = childrenOf(pid).flatMap(treeOf);
  return [pid, ...below];
}

function childrenOf(pid: number): number[] {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const lists = tasks.map((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1'));
    return lists.flatMap((list) => list.split(' ').filter(Boolean).map(Number));
  } catch {
    return [];
  }
}

function cpuUs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return US_PER_TICK * TIMES_AT.reduce((sum, at) => sum + Number(fields[at]), 0);
  } catch {
    return 0;
  }
}

function memoryOf(pid: number): number {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
    return 1024 * Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
