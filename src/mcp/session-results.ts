import { LRUCache } from 'lru-cache';
import type { SearchResult } from '../client/schema.ts';
import type { SessionResults } from './tool.ts';

const BYTES_MAX = 64 * 1024 * 1024;
const RESULTS_OF_SESSION_MAX = 500;
/** Lifetime of a result, equal to that of its links. */
const KEEP_MS = 3_600_000;
const CHARACTER_BYTES = 2;
/** Approximate memory of a result in addition to its text. */
const ENTRY_BYTES = 2048;

interface Entry {
  readonly session: string;
  readonly id: string;
  readonly bucket: string;
  readonly result: SearchResult;
}

/**
 * Results of the tool `search` by session, for the tool `fetch`. All sessions share one limit in bytes. The least
 * recently used results are dropped first.
 */
export class ResultCache {
  readonly #entries: LRUCache<string, Entry>;
  readonly #idsBySession = new Map<string, Set<string>>();

  constructor(options: { readonly bytesMax?: number; readonly keepMs?: number } = {}) {
    this.#entries = new LRUCache({
      maxSize: options.bytesMax ?? BYTES_MAX,
      sizeCalculation: ({ result }) => ENTRY_BYTES + result.text.length * CHARACTER_BYTES,
      ttl: options.keepMs ?? KEEP_MS,
      dispose: ({ session, id }, _key, reason) => {
        if (reason !== 'set') this.#drop(session, id);
      },
    });
  }

  get size(): number {
    return this.#entries.size;
  }

  of(session: string): SessionResults {
    return {
      remember: (bucket, results) => {
        for (const result of results) this.#remember({ session, id: result.id, bucket, result });
      },
      find: (id) => this.#entries.get(keyOf(session, id)) ?? null,
    };
  }

  /** Delete the results of a session that has ended. */
  forget(session: string): void {
    for (const id of this.#idsBySession.get(session) ?? []) this.#entries.delete(keyOf(session, id));
    this.#idsBySession.delete(session);
  }

  #remember(entry: Entry): void {
    const { session, id } = entry;
    this.#entries.set(keyOf(session, id), entry);
    // Without space for it, the result was not kept.
    if (!this.#entries.has(keyOf(session, id))) return;
    const ids = this.#idsBySession.get(session) ?? new Set();
    this.#idsBySession.set(session, ids);
    ids.delete(id);
    ids.add(id);
    for (const oldest of ids) {
      if (ids.size <= RESULTS_OF_SESSION_MAX) break;
      this.#entries.delete(keyOf(session, oldest));
    }
  }

  #drop(session: string, id: string): void {
    const ids = this.#idsBySession.get(session);
    ids?.delete(id);
    if (ids?.size === 0) this.#idsBySession.delete(session);
  }
}

function keyOf(session: string, id: string): string {
  return `${session}\n${id}`;
}
