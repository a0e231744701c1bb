/** Text prefix that spreadsheet programs would interpret as a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/**
 * Write rows as CSV (RFC 4180), each ending with a line break.
 *
 * @param columns names for the first row; null for none
 */
export function toCsv(columns: readonly string[] | null, rows: readonly (readonly (string | number)[])[]): string {
  const all = columns === null ? rows : [columns, ...rows];
  return all.map((row) => `${row.map(toField).join(',')}\r\n`).join('');
}

function toField(cell: string | number): string {
  if (typeof cell === 'number') return String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
