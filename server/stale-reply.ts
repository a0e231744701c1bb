import type { StaleRead } from '../src/platform/postgres.ts';
import type { DescribedHeader, RouteReply } from './route.ts';

/** Headers of a reply by `staleReply`. */
export const STALE_HEADERS = ['X-Read-Staleness'] as const satisfies readonly DescribedHeader[];

/** Make the reply of a read that allowed old data. A header tells their age in seconds, if a replica answered. */
export function staleReply<T>({ value, ageMs }: StaleRead<T>): RouteReply {
  return { body: value, headers: ageMs === 0 ? {} : { 'X-Read-Staleness': (ageMs / 1000).toFixed(3) } };
}
