import type { Caller } from '../access/caller.ts';
import type { Relevance } from './relevance/schema.ts';
import type { SearchRequest } from './schema.ts';

/** Kinds of callers that a record of a search tells apart. It never has who asked. */
export const ASKERS = ['person', 'key', 'client', 'messenger', 'assistant'] as const;
export type Asker = (typeof ASKERS)[number];

/** Answered search, as it reports itself. */
export interface Searched extends Pick<SearchRequest, 'query' | 'mode'> {
  readonly bucketIds: readonly string[];
  /** Time at which it began, of `performance.now()`. */
  readonly beganMs: number;
  readonly results: number;
  readonly relevance: Relevance;
  /** Kind of caller, if the caller does not tell it. */
  readonly askedBy?: Asker;
}

/** Port by which a search reports itself. It never fails and never waits. */
export interface SearchRecorder {
  /** @returns the id under which the search is kept; null if the organization keeps no queries */
  record(caller: Caller, searched: Searched): string | null;
}

/** Make the recorder of searches that an answer asks for. */
export function askedByAssistant(recorder: SearchRecorder | null): SearchRecorder | null {
  return recorder && { record: (caller, searched) => recorder.record(caller, { ...searched, askedBy: 'assistant' }) };
}
