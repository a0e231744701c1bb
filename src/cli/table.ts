import { oneLine } from '../platform/printable.ts';
import { paint, terminalColumns } from './output.ts';
import { textWidth } from './text-width.ts';

const GAP = '  ';
/** Minimum width of a cut column, however narrow the terminal. */
const COLUMN_CELLS_MIN = 8;

/** Column: its header, a function for its cells (null shows a dash), and a mark if it may be cut to fit a terminal. */
export type Column<Row> = readonly [
  header: string,
  cell: (row: Row) => string | number | null | undefined,
  fit?: 'may be cut',
];

/**
 * Render rows in aligned columns under a header. Widths count terminal cells; a Korean or Chinese letter takes two. On
 * a terminal, cut the columns that may be cut. Elsewhere, don't cut anything.
 * @param widthMax maximum cells per line; null for no limit
 */
export function renderTable<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  widthMax: number | null = terminalColumns(),
): string {
  const header = columns.map(([name]) => name.toUpperCase());
  const cells = rows.map((row) => columns.map(([, cell]) => toCell(cell(row))));
  const widths = columns.map((_, index) =>
    Math.max(...[header, ...cells].map((line) => textWidth(line[index] as string))),
  );
  if (widthMax !== null) {
    const cuttable = columns.flatMap(([, , fit], index) => (fit === undefined ? [] : [index]));
    shrink(widths, cuttable, widthMax - GAP.length * (widths.length - 1));
    const total = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
    // Wrapped lines aren't readable as columns, so render each row as a block.
    if (total > widthMax) return renderBlocks(rows, columns);
  }
  const format = (line: readonly string[]) =>
    line
      .map((cell, index) => pad(cut(cell, widths[index] as number), widths[index] as number))
      .join(GAP)
      .trimEnd();
  return [paint('bold', format(header)), ...cells.map(format)].join('\n');
}

function renderBlocks<Row>(rows: readonly Row[], columns: readonly Column<Row>[]): string {
  return rows
    .map((row) => renderFields(Object.fromEntries(columns.map(([name, cell]) => [name, cell(row)]))))
    .join('\n\n');
}

/** Render the names and values of one record, one per line. */
export function renderFields(fields: Readonly<Record<string, unknown>>): string {
  const names = Object.keys(fields);
  const width = Math.max(...names.map((name) => textWidth(name)));
  return names.map((name) => `${paint('bold', pad(name, width))}${GAP}${toText(fields[name])}`.trimEnd()).join('\n');
}

export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return power === 0 ? `${bytes} B` : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}

function toText(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return toCell(value.join(', '));
  return toCell(typeof value === 'object' ? JSON.stringify(value) : String(value));
}

/** Render a value on one line, without characters that a terminal would interpret. */
function toCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined || value === '') return '-';
  return oneLine(String(value));
}

/** Take cells from the widest of the `cuttable` columns until all columns fit into `cells`. */
function shrink(widths: number[], cuttable: readonly number[], cells: number): void {
  for (let excess = widths.reduce((sum, width) => sum + width, 0) - cells; excess > 0; excess--) {
    const widest = cuttable.reduce((a, b) => ((widths[b] as number) > (widths[a] ?? 0) ? b : a), -1);
    if ((widths[widest] ?? 0) <= COLUMN_CELLS_MIN) return;
    widths[widest] = (widths[widest] as number) - 1;
  }
}

function pad(text: string, cells: number): string {
  return text + ' '.repeat(Math.max(0, cells - textWidth(text)));
}

function cut(text: string, cells: number): string {
  if (textWidth(text) <= cells) return text;
  let kept = '';
  let used = 1; // the ellipsis
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += textWidth(segment);
    if (used > cells) break;
    kept += segment;
  }
  return `${kept}…`;
}
