import type { StaleRead } from '../src/platform/postgres.ts';
import type { DescribedHeader, RouteReply } from './route.ts';

/** Headers of a reply by `staleReply`. */
export const STALE_HEADERS = ['X-Read-Staleness'] as const satisfies readonly DescribedHeader[];

/** Create the reply of a read that allowed old data. If a replica answered, a header states the age in seconds. */
export function staleReply<T>({ value, ageMs }: StaleRead<T>): RouteReply {
  return { body: value, headers: ageMs === 0 ? {} : { 'X-Read-Staleness': (ageMs / 1000).toFixed(3) } };
}
