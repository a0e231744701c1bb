import { currentLanguage } from './i18n.ts';

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const;

/** Format a size with a unit: 1,234,567 is "1.2 MB". */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 100 ? 0 : 1;
  return `${value.toLocaleString(currentLanguage(), { maximumFractionDigits: digits })} ${UNITS[unit]}`;
}

export function formatNumber(value: number, maximumFractionDigits = 0): string {
  return value.toLocaleString(currentLanguage(), { maximumFractionDigits });
}

/** Format a number with few digits for narrow places: 1234567 is "1.2M". */
export function formatCompact(value: number): string {
  return value.toLocaleString(currentLanguage(), { notation: 'compact', maximumFractionDigits: 1 });
}

export function formatScore(value: number | null | undefined): string {
  return value === null || value === undefined ? '–' : value.toFixed(3);
}

export function formatPercent(share: number, digits = 0): string {
  return share.toLocaleString(currentLanguage(), { style: 'percent', maximumFractionDigits: digits });
}

/** Format date and time in the browser's time zone. */
export function formatTime(iso: string): string {
  return new Date(iso).toLocaleString(currentLanguage(), { dateStyle: 'medium', timeStyle: 'short' });
}

export function formatDate(iso: string): string {
  return new Date(iso).toLocaleDateString(currentLanguage(), { dateStyle: 'medium' });
}

/** Format a UTC day, such as `2026-11-22`. */
export function formatDay(date: string): string {
  return new Date(date).toLocaleDateString(currentLanguage(), { dateStyle: 'medium', timeZone: 'UTC' });
}

/** Format a UTC day without its year, for narrow places. @param seconds since 1970 */
export function formatShortDay(seconds: number): string {
  return new Date(seconds * 1000).toLocaleDateString(currentLanguage(), {
    month: 'short',
    day: 'numeric',
    timeZone: 'UTC',
  });
}

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];
const DAYS_SHOWN_MAX = 30;

/** Format a time relative to now ("5 minutes ago"), or as a date if more than a month away. */
export function formatAgo(iso: string, nowMs = Date.now()): string {
  const seconds = (Date.parse(iso) - nowMs) / 1000;
  if (Math.abs(seconds) > DAYS_SHOWN_MAX * 86_400) return formatDate(iso);
  const relative = new Intl.RelativeTimeFormat(currentLanguage(), { numeric: 'auto', style: 'long' });
  for (const [unit, length] of STEPS) {
    if (Math.abs(seconds) >= length) return relative.format(Math.round(seconds / length), unit);
  }
  return relative.format(Math.round(Math.min(seconds, 0)), 'second');
}

/** Format a duration: 75,000 ms is "1 min 15 s". */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}
