// Rows of text as a listing: one header line, one line a row, stable column names, never a blank inside an unquoted field [spec 5.7, D].
import { quoteWord } from './words.ts';

const NUMBER = /^[0-9]+$/;

/** Columns as wide as their widest cell; numbers to the right, words to the left. */
export function formatTable(rows: readonly (readonly string[])[]): string[] {
  const [header = [], ...items] = rows;
  const widths = header.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  const toTheRight = header.map((_, column) => items.every((row) => NUMBER.test(row[column] ?? '')));
  return rows.map((row) => {
    const cells = row.map((cell, column) => {
      const width = widths[column] ?? 0;
      return toTheRight[column] === true ? cell.padStart(width) : cell.padEnd(width);
    });
    return cells.join('  ').trimEnd();
  });
}

/** A cell of a listing; a name is quoted for people. */
export type Cell = string | number | null | { readonly name: string };

interface Printer {
  readonly json: boolean;
  print(line: string): void;
}

/** For people as a table, for programs an object a row by the names of the columns in small letters. */
export function printTable(
  to: Printer,
  columns: readonly string[],
  rows: readonly (readonly Cell[])[],
): void {
  if (to.json) {
    for (const row of rows) {
      const values = columns.map((column, i) => [column.toLowerCase(), valueOf(row[i] ?? null)]);
      printJson(to, Object.fromEntries(values));
    }
    return;
  }
  for (const line of formatTable([columns, ...rows.map((row) => row.map(textOf))])) to.print(line);
}

export function printJson(to: Printer, value: object): void {
  to.print(JSON.stringify(value));
}

/** A row of a listing that is printed while it is made: columns of these widths at least, the last one without. */
export function widthsRow(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, i) => cell.padEnd(widths[i] ?? 0))
    .join('  ')
    .trimEnd();
}

function textOf(cell: Cell): string {
  if (cell === null) return '-';
  return typeof cell === 'object' ? quoteWord(cell.name) : String(cell);
}
function valueOf(cell: Cell): string | number | null {
  return cell !== null && typeof cell === 'object' ? cell.name : cell;
}
