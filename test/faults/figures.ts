/** What one promise came to. */
export interface Figures {
  readonly promise: string;
  /** Faults that were made. */
  readonly n: number;
  /** Things that were accepted and are not there, or not whole. */
  readonly lost: number;
  /** Things that are there more than once. */
  readonly doubled: number;
  /** Things that nobody works on and nobody will. */
  readonly stuck: number;
  /** From a fault until what it hit went on; null: not measured. */
  readonly worstRecoveryMs: number | null;
  readonly note?: string;
}

const COLUMNS = ['promise', 'n', 'lost', 'doubled', 'stuck', 'worst recovery', ''] as const;

/** The table that is printed at the end of the run. */
export function renderFigures(rows: readonly Figures[]): string {
  const cells = rows.map((row) => [
    row.promise,
    String(row.n),
    String(row.lost),
    String(row.doubled),
    String(row.stuck),
    row.worstRecoveryMs === null ? '-' : `${Math.round(row.worstRecoveryMs)} ms`,
    row.note ?? '',
  ]);
  const lines = [[...COLUMNS], ...cells];
  const widths = COLUMNS.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const isNumber = (column: number) => column > 0 && column < COLUMNS.length - 1;
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
