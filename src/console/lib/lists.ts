import { useEffect } from 'preact/hooks';
import type { BucketView } from '../types.ts';
import { call } from './api.ts';
import type { Topic } from './events.ts';
import { type Page, type PagedResource, type Resource, usePages, useResource } from './resource.ts';

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

interface ListOptions {
  readonly query?: Readonly<Record<string, string>>;
  /** Topics whose changes reload the list. */
  readonly topics?: readonly Topic[];
  /** Rows per page. */
  readonly limit?: number;
}

const LIST_ROWS = 50;

/** Load a list of the API one page at a time. */
export function useList<T>(
  path: string,
  { query = {}, topics, limit = LIST_ROWS }: ListOptions = {},
): PagedResource<T> {
  const load = (cursor: string | null, signal: AbortSignal) =>
    call<Page<T>>(path, { query: { ...query, cursor, limit }, signal });
  return usePages(`${path} ${JSON.stringify(query)}`, load, topics);
}

/** Load a list that the API returns as an array, one page at a time. A full page may have a successor. */
export function useArray<T>(
  path: string,
  cursorOf: (row: T) => string,
  { query = {}, topics, limit = LIST_ROWS }: ListOptions = {},
): PagedResource<T> {
  const load = async (cursor: string | null, signal: AbortSignal) => {
    const data = await call<readonly T[]>(path, { query: { ...query, cursor, limit }, signal });
    const last = data.length < limit ? undefined : data.at(-1);
    return { data, next_cursor: last === undefined ? null : cursorOf(last) };
  };
  return usePages(`${path} ${JSON.stringify(query)}`, load, topics);
}

const REFRESH_MS = 10_000;

/** Load a list like `useList`, and reload it periodically, since the service sends no events about it. */
export function useRefreshedList<T>(path: string): PagedResource<T> {
  const list = useList<T>(path);
  const { refreshQuietly: refresh } = list;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  return list;
}
