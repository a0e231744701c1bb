import type { BucketView } from '../types.ts';
import { call } from './api.ts';
import { type Page, type Resource, useResource } from './resource.ts';

const PAGE_ROWS = 200;
const PAGES_MAX = 10;

/** Read a whole list, up to 2,000 rows. */
export async function readList<T>(path: string, signal?: AbortSignal): Promise<readonly T[]> {
  const rows: T[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const reply: Page<T> = await call<Page<T>>(path, { query: { cursor, limit: PAGE_ROWS }, signal });
    rows.push(...reply.data);
    cursor = reply.next_cursor;
    if (cursor === null) break;
  }
  return rows;
}

/** Load the buckets for a selection field. */
export function useBuckets(): Resource<readonly BucketView[]> {
  return useResource('buckets', (signal) => readList<BucketView>('/v1/buckets', signal));
}

/** Create a page from a list that the API returns as an array. A full page may have a successor. */
export function toPage<T>(data: readonly T[], limit: number, cursorOf: (row: T) => string): Page<T> {
  const last = data.length < limit ? undefined : data.at(-1);
  return { data, next_cursor: last === undefined ? null : cursorOf(last) };
}
