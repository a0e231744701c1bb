import type { Caller } from '../access/caller.ts';
import type { Relevance } from './relevance/schema.ts';
import type { SearchRequest } from './schema.ts';

/** Kinds of callers in the records of searches. A record never says who asked. */
export const ASKERS = ['person', 'key', 'client', 'messenger', 'assistant'] as const;
export type Asker = (typeof ASKERS)[number];

/** Completed search, as reported to the recorder. */
export interface Searched extends Pick<SearchRequest, 'query' | 'mode'> {
  readonly bucketIds: readonly string[];
  /** Start time by `performance.now()`. */
  readonly beganMs: number;
  readonly results: number;
  readonly relevance: Relevance;
  /** Kind of caller, if the caller object doesn't tell. */
  readonly askedBy?: Asker;
}

/** Port for reporting searches. It never fails and never waits. */
export interface SearchRecorder {
  /** @returns the id of the logged search; null if the organization keeps no queries */
  record(caller: Caller, searched: Searched): string | null;
}

/** Wrap a recorder for searches on behalf of an answer. */
export function askedByAssistant(recorder: SearchRecorder | null): SearchRecorder | null {
  return recorder && { record: (caller, searched) => recorder.record(caller, { ...searched, askedBy: 'assistant' }) };
}
