import { styleText } from 'node:util';
import type { UsageSummary } from '../usage/schema.ts';
import { textWidth } from './text-width.ts';

const DAY_MS = 86_400_000;
const GAP = '  ';
const BAR_CELLS_MAX = 40;
/** Minimum bar length. A shorter bar would show nothing, so it is omitted. */
const BAR_CELLS_MIN = 4;
const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

export interface ChartOptions {
  /** Cells per line. Null if the output isn't a terminal: use ASCII bars and don't cut anything. */
  readonly width: number | null;
  readonly color: boolean;
}

interface Line {
  readonly label: string;
  /** Length of the bar, 0 to 1; null for no bar. */
  readonly share: number | null;
  /** True to show the rest of the bar as a track, as for a quota. */
  readonly hasTrack?: boolean;
  readonly figures: string;
}

/** Render a bar chart of the remaining quotas, or of the tokens by day or model. Add no final line break. */
export function renderUsage(summary: UsageSummary, options: ChartOptions, by: 'day' | 'model' | 'axis'): string {
  const { start, end } = summary.period;
  const lastDay = new Date(Date.parse(end) - 1).toISOString().slice(0, 10);
  const title = `Usage from ${start.slice(0, 10)} to ${lastDay} (UTC), plan ${summary.plan}`;
  const lines = by === 'axis' ? axisLines(summary) : tokenLines(by === 'day' ? everyDay(summary) : models(summary));
  const body = lines.length === 0 ? ['nothing used'] : renderLines(lines, options);
  return [options.color ? bold(title) : title, '', ...body].join('\n');
}

/** Render the remaining quota of each axis, with a heading. Add no final line break. */
export function renderQuotas(summary: UsageSummary, options: ChartOptions): string {
  const title = 'Quotas of this month';
  return [options.color ? bold(title) : title, '', ...renderLines(axisLines(summary), options)].join('\n');
}

function axisLines(summary: UsageSummary): Line[] {
  return Object.entries(summary.axes).map(([axis, { requests, texts, images, limit, remaining }]) => {
    const unit = axis === 'embed_image' ? 'images' : axis === 'answers' ? 'answers' : 'texts';
    const inPeriod = `${count(axis === 'embed_image' ? images : texts, unit)}, ${count(requests, 'requests')}`;
    if (limit === null || remaining === null) return { label: axis, share: null, figures: `${inPeriod}, no limit` };
    if (limit === 0) return { label: axis, share: null, figures: `${inPeriod}, not in the plan` };
    const used = limit - remaining;
    const quota = `${used.toLocaleString('en-US')} of ${count(limit, unit)} this month`;
    return {
      label: axis,
      share: used / limit,
      hasTrack: true,
      figures: `${quota}, ${remaining.toLocaleString('en-US')} left`,
    };
  });
}

interface Tokens {
  readonly label: string;
  readonly tokens: number;
  readonly requests: number;
}

function tokenLines(rows: readonly Tokens[]): Line[] {
  const most = Math.max(...rows.map(({ tokens }) => tokens), 1);
  const tokens = rows.map((row) => count(row.tokens, 'tokens'));
  const width = Math.max(...tokens.map((text) => text.length));
  return rows.map((row, index) => ({
    label: row.label,
    share: row.tokens / most,
    figures: `${tokens[index]?.padStart(width)}, ${count(row.requests, 'requests')}`,
  }));
}

function models({ by_model }: UsageSummary): Tokens[] {
  return by_model.map(({ model, tokens, requests }) => ({ label: model, tokens, requests }));
}

/** List all days from the first to the last with usage. Include days without usage, so that gaps are visible. */
function everyDay({ by_day }: UsageSummary): Tokens[] {
  const first = by_day[0];
  const last = by_day.at(-1);
  if (first === undefined || last === undefined) return [];
  const byDate = new Map(by_day.map((day) => [day.date, day]));
  const days: Tokens[] = [];
  for (let ms = Date.parse(first.date); ms <= Date.parse(last.date); ms += DAY_MS) {
    const date = new Date(ms).toISOString().slice(0, 10);
    days.push({ label: date, tokens: byDate.get(date)?.tokens ?? 0, requests: byDate.get(date)?.requests ?? 0 });
  }
  return days;
}

function renderLines(lines: readonly Line[], options: ChartOptions): string[] {
  const labelCells = Math.max(...lines.map(({ label }) => textWidth(label)));
  const figureCells = Math.max(...lines.map(({ figures }) => figures.length));
  const room = options.width === null ? BAR_CELLS_MAX : options.width - labelCells - figureCells - 2 * GAP.length;
  const barCells = room < BAR_CELLS_MIN ? 0 : Math.min(room, BAR_CELLS_MAX);
  const hasBars = barCells > 0 && lines.some(({ share }) => share !== null);
  return lines.map((line) => {
    const label = line.label + ' '.repeat(labelCells - textWidth(line.label));
    return (hasBars ? [label, renderBar(line, barCells, options), line.figures] : [label, line.figures]).join(GAP);
  });
}

/** Render a bar of exactly `cells` cells. Any share above 0 is visible. */
function renderBar({ share, hasTrack = false }: Line, cells: number, { width, color }: ChartOptions): string {
  if (share === null) return ' '.repeat(cells);
  const isAscii = width === null;
  const smallest = share > 0 ? 1 : 0;
  const eighths = Math.max(smallest, Math.round(Math.min(share, 1) * cells * 8));
  const full = isAscii ? Math.max(smallest, Math.round(eighths / 8)) : Math.floor(eighths / 8);
  const bar = isAscii ? '#'.repeat(full) : '█'.repeat(full) + EIGHTHS[eighths % 8];
  const track = (hasTrack ? (isAscii ? '.' : '░') : ' ').repeat(cells - textWidth(bar));
  if (!color) return bar + track;
  const colour = !hasTrack ? 'cyan' : share >= 1 ? 'red' : share >= 0.8 ? 'yellow' : 'green';
  return paint(colour, bar) + (hasTrack ? paint('dim', track) : track);
}

function bold(text: string): string {
  return paint('bold', text);
}

/** Style a text without checking the stream, because the caller has decided on colours. */
function paint(style: Parameters<typeof styleText>[0], text: string): string {
  return text === '' ? text : styleText(style, text, { validateStream: false });
}

function count(n: number, unit: string): string {
  return `${n.toLocaleString('en-US')} ${n === 1 ? unit.replace(/s$/, '') : unit}`;
}
