/** Result of the test of one guarantee. */
export interface Figures {
  readonly guarantee: string;
  /** Number of injected faults. */
  readonly n: number;
  /** Number of accepted things that are missing or incomplete. */
  readonly lost: number;
  /** Number of things that exist more than once. */
  readonly doubled: number;
  /** Number of jobs that no worker has or will claim. */
  readonly stuck: number;
  /** Longest time from a fault until the affected work continued, or null if it was not measured. */
  readonly worstRecoveryMs: number | null;
  readonly note?: string;
}

const COLUMNS = ['guarantee', 'n', 'lost', 'doubled', 'stuck', 'worst recovery', ''] as const;

/** Render the table that is printed at the end of the run. */
export function renderFigures(rows: readonly Figures[]): string {
  const cells = rows.map((row) => [
    row.guarantee,
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
