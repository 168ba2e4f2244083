// Rows of text as a listing: one header line, one line a row, stable column names, never a blank inside an unquoted field [spec 5.7, D].

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
