type Cell = string | number | null;

/** Start of a text that spreadsheet programs would run as a formula. */
const FORMULA = /^[=+\-@\t\r]/;

/** Write rows as CSV (RFC 4180), starting with the column names. */
export function toCsv(columns: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [columns, ...rows].map((row) => row.map(toField).join(',')).join('\r\n');
}

function toField(cell: Cell): string {
  if (cell === null) return '';
  if (typeof cell === 'number') return String(cell);
  const text = FORMULA.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
