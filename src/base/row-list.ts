// Rows gathered one after the other, and put in order.
import type { Before } from './ordered-tree.ts';

const ROWS_MIN = 64;

export class RowList {
  private rows: Uint32Array;
  private count = 0;

  /** `capacity`: rows that it takes without growing. */
  constructor(capacity: number = ROWS_MIN) {
    this.rows = new Uint32Array(capacity);
  }

  push(row: number): void {
    if (this.count === this.rows.length) {
      const larger = new Uint32Array(Math.max(ROWS_MIN, 2 * this.count));
      larger.set(this.rows);
      this.rows = larger;
    }
    this.rows[this.count] = row;
    this.count++;
  }

  /** The rows in order: a view. Costs one comparison a row when they came so, or in runs that rise or fall a few for each row. */
  sorted(before: Before): Uint32Array {
    const rows = this.rows.subarray(0, this.count);
    sortRows(rows, before);
    return rows;
  }
}

/** Natural merge sort. */
function sortRows(rows: Uint32Array, before: Before): void {
  let runs = findRuns(rows, before);
  if (runs.length <= 2) return;
  let from = rows;
  let into: Uint32Array = new Uint32Array(rows.length);
  while (runs.length > 2) {
    const merged = [0];
    for (let i = 0; i + 1 < runs.length; i += 2) {
      const start = runs[i] as number;
      const middle = runs[i + 1] as number;
      const end = runs[i + 2] ?? middle;
      merge(from, into, { start, middle, end, before });
      merged.push(end);
    }
    runs = merged;
    [from, into] = [into, from];
  }
  if (from !== rows) rows.set(from);
}

/** Where the runs begin, and the end; those that fall have been turned. */
function findRuns(rows: Uint32Array, before: Before): number[] {
  const runs = [0];
  for (let at = 0; at < rows.length;) {
    const start = at;
    const falls = at + 1 < rows.length && before(rows[at + 1] as number, rows[at] as number);
    at++;
    while (at < rows.length && before(rows[at] as number, rows[at - 1] as number) === falls) at++;
    if (falls) rows.subarray(start, at).reverse();
    runs.push(at);
  }
  return runs;
}

interface Merge {
  readonly start: number;
  readonly middle: number;
  readonly end: number;
  readonly before: Before;
}

function merge(from: Uint32Array, into: Uint32Array, { start, middle, end, before }: Merge): void {
  let left = start;
  let right = middle;
  for (let at = start; at < end; at++) {
    const takeLeft = right === end || (left < middle && !before(from[right] as number, from[left] as number));
    into[at] = (takeLeft ? from[left++] : from[right++]) as number;
  }
}
