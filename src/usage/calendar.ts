import { z } from 'zod';
import { invalidRequest } from '../platform/errors.ts';

const DAY_MS = 86_400_000;
const PERIOD_DAYS_MAX = 366;
/** Valid years (UTC) of a period. PostgreSQL can't parse dates without a four-digit year. */
const YEAR_MIN = 1970;
const YEAR_MAX = 9998;

/** Day on which usage is booked: the UTC day and the first day of its month, both `YYYY-MM-DD`. */
export interface BookingDay {
  readonly day: string;
  readonly month: string;
}

let cached: BookingDay & { readonly number: number } = { number: Number.NaN, day: '', month: '' };

/** Return the booking day of a time. The last result is cached, since nearly every call is for the current day. */
export function bookingDay(nowMs: number): BookingDay {
  const number = Math.floor(nowMs / DAY_MS);
  if (number !== cached.number) {
    const day = toDate(number * DAY_MS);
    cached = { number, day, month: `${day.slice(0, 7)}-01` };
  }
  return cached;
}

/** Return the start of the next month, UTC, in milliseconds since 1970. */
export function nextMonthMs(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
}

function monthStartMs(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth());
}

export function toDate(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

const Moment = z.union([z.iso.date(), z.iso.datetime({ offset: true })]);

/**
 * Widen a period to whole UTC days, from `startMs` to before `endMs`. `from` (inclusive) and `to` (exclusive) are dates
 * (their midnight) or instants in ISO 8601. By default, `from` is the start of the period's last month, and `to` the
 * end of this calendar month.
 *
 * @throws AppError `invalid_request` (400), which names `from` or `to`: not a date, a year outside 1970 to 9998, out of
 *   order, or more than 366 days
 */
export function toPeriod(
  range: { from?: string | undefined; to?: string | undefined },
  nowMs: number,
): { startMs: number; endMs: number } {
  const toMs = range.to === undefined ? nextMonthMs(nowMs) : momentMs(range.to, 'to');
  const fromMs = range.from === undefined ? monthStartMs(toMs - 1) : momentMs(range.from, 'from');
  const param = range.from === undefined ? 'to' : 'from';
  if (fromMs >= toMs) throw invalidRequest('from must be before to (to is the first moment after the period)', param);
  const startMs = Math.floor(fromMs / DAY_MS) * DAY_MS;
  const endMs = Math.ceil(toMs / DAY_MS) * DAY_MS;
  if (endMs - startMs > PERIOD_DAYS_MAX * DAY_MS) {
    throw invalidRequest(`the period may have at most ${PERIOD_DAYS_MAX} days`, param);
  }
  return { startMs, endMs };
}

function momentMs(text: string, param: string): number {
  if (!Moment.safeParse(text).success) {
    throw invalidRequest(
      `${param} must be a date such as 2026-08-01, or an instant such as 2026-08-01T12:00:00Z`,
      param,
    );
  }
  const ms = Date.parse(text);
  const year = new Date(ms).getUTCFullYear();
  if (year >= YEAR_MIN && year <= YEAR_MAX) return ms;
  throw invalidRequest(`${param} must be in one of the years ${YEAR_MIN} to ${YEAR_MAX} (UTC)`, param);
}
