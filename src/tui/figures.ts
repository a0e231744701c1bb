const SPARKS = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/** Format a number with separators: `1,240`. */
export function formatCount(n: number): string {
  return n.toLocaleString('en-US');
}

/** Format a rate in at most 7 cells: `0.25/s`, `12.5/s`, `1,240/s`. */
export function formatPerSecond(perSecond: number | null): string {
  if (perSecond === null) return '-';
  if (perSecond === 0) return '0/s';
  const digits = perSecond < 1 ? 2 : perSecond < 100 ? 1 : 0;
  return `${perSecond.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits: digits })}/s`;
}

/** Format a duration in at most 6 cells: `45s`, `3m20s`, `2h05m`, `9d04h`. */
export function formatDuration(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return '-';
  const whole = Math.max(0, Math.round(seconds));
  const two = (n: number) => String(Math.floor(n)).padStart(2, '0');
  if (whole < 60) return `${whole}s`;
  if (whole < 3_600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`;
  if (whole < 86_400) return `${Math.floor(whole / 3_600)}h${two((whole % 3_600) / 60)}m`;
  return `${Math.floor(whole / 86_400)}d${two((whole % 86_400) / 3_600)}h`;
}

/** Format a latency in at most 6 cells: `0.8ms`, `45ms`, `1.25s`. */
export function formatLatency(milliseconds: number | null): string {
  if (milliseconds === null) return '-';
  if (milliseconds < 10) return `${milliseconds.toFixed(1)}ms`;
  if (milliseconds < 1_000) return `${Math.round(milliseconds)}ms`;
  return `${(milliseconds / 1_000).toFixed(milliseconds < 10_000 ? 2 : 1)}s`;
}

/** Format a share of 0 to 1 as `97.5%`. */
export function formatShare(share: number | null): string {
  if (share === null) return '-';
  return `${(100 * share).toFixed(share === 0 || share === 1 ? 0 : 1)}%`;
}

/** Format the time of day of an ISO timestamp in the time zone of this process. */
export function formatClock(iso: string): string {
  const date = new Date(iso);
  const two = (n: number) => String(n).padStart(2, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Render a bar `████░░░░` of exactly `cells` cells. It is full only when everything is done. */
export function renderBar(done: number, total: number, cells: number): string {
  const filled = done >= total ? cells : Math.min(cells - 1, Math.floor((Math.max(0, done) / total) * cells));
  return '█'.repeat(filled) + '░'.repeat(cells - filled);
}

/**
 * Render the newest `cells` values of a series, one cell each, on a scale from 0 to the largest of them (or `top`).
 * Missing values are spaces.
 */
export function renderSparkline(values: readonly (number | null)[], cells: number, top?: number): string {
  const shown = values.slice(-cells);
  const most = top ?? Math.max(...shown.map((value) => value ?? 0));
  const line = shown.map((value) => {
    if (value === null) return ' ';
    if (value <= 0 || most <= 0) return SPARKS[0];
    return SPARKS[Math.max(1, Math.min(7, Math.ceil((value / most) * 8) - 1))];
  });
  return line.join('').padStart(cells);
}
