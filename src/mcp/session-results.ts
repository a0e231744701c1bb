import { LRUCache } from 'lru-cache';
import type { FoundResult, SessionResults } from './tool.ts';

const BYTES_MAX = 64 * 1024 * 1024;
const RESULTS_OF_SESSION_MAX = 500;
/** Maximum number of sessions. In the revision without sessions, each client counts as one. */
const SESSIONS_MAX = 10_000;
/** Lifetime of a result, equal to that of its links. */
const KEEP_MS = 3_600_000;
const CHARACTER_BYTES = 2;
/** Approximate memory of a result in addition to its text. */
const ENTRY_BYTES = 2048;

interface Entry {
  readonly session: string;
  readonly id: string;
  /** Null for a passage that was read but isn't a search result. */
  readonly found: FoundResult | null;
  readonly shortId: string | null;
  isSeen: boolean;
}

interface SessionState {
  /** Number of the last short id. Numbers are never reused, so that an old id never names another result. */
  last: number;
  /** Full ids of the entries, least recently used first. */
  readonly ids: Set<string>;
  readonly fullIdOf: Map<string, string>;
}

/**
 * Search results by session, which later calls refer to by id, and passages already shown. All sessions share one byte
 * limit. The least recently used results are dropped first.
 */
export class ResultCache {
  readonly #entries: LRUCache<string, Entry>;
  readonly #sessions = new LRUCache<string, SessionState>({ max: SESSIONS_MAX });

  constructor(options: { readonly bytesMax?: number; readonly keepMs?: number } = {}) {
    this.#entries = new LRUCache({
      maxSize: options.bytesMax ?? BYTES_MAX,
      sizeCalculation: ({ found }) => ENTRY_BYTES + (found?.result.text.length ?? 0) * CHARACTER_BYTES,
      ttl: options.keepMs ?? KEEP_MS,
      dispose: (entry, _key, reason) => {
        if (reason !== 'set') this.#drop(entry);
      },
    });
  }

  get size(): number {
    return this.#entries.size;
  }

  of(session: string): SessionResults {
    const entryOf = (id: string) => this.#entries.get(keyOf(session, id)) ?? null;
    return {
      remember: (bucket, result) => this.#remember(session, { bucket, result }),
      find: (id) => entryOf(this.#sessions.get(session)?.fullIdOf.get(id) ?? id)?.found ?? null,
      markSeen: (ids) => {
        for (const id of ids) {
          const known = entryOf(id);
          if (known !== null) known.isSeen = true;
          else this.#set({ session, id, found: null, shortId: null, isSeen: true });
        }
      },
      listSeen: () =>
        new Set([...(this.#sessions.peek(session)?.ids ?? [])].filter((id) => entryOf(id)?.isSeen === true)),
    };
  }

  /** Delete the results of an ended session. */
  forget(session: string): void {
    for (const id of [...(this.#sessions.peek(session)?.ids ?? [])]) this.#entries.delete(keyOf(session, id));
    this.#sessions.delete(session);
  }

  #remember(session: string, found: FoundResult): string {
    const { id } = found.result;
    const known = this.#entries.get(keyOf(session, id));
    const shortId = known?.shortId ?? `r${++this.#stateOf(session).last}`;
    this.#set({ session, id, found, shortId, isSeen: known?.isSeen ?? false });
    return shortId;
  }

  #set(entry: Entry): void {
    const { session, id, shortId } = entry;
    this.#entries.set(keyOf(session, id), entry);
    // The result wasn't kept if there was no space for it.
    if (!this.#entries.has(keyOf(session, id))) return;
    const { ids, fullIdOf } = this.#stateOf(session);
    ids.delete(id);
    ids.add(id);
    if (shortId !== null) fullIdOf.set(shortId, id);
    for (const oldest of ids) {
      if (ids.size <= RESULTS_OF_SESSION_MAX) break;
      this.#entries.delete(keyOf(session, oldest));
    }
  }

  #stateOf(session: string): SessionState {
    const known = this.#sessions.get(session);
    if (known !== undefined) return known;
    const state: SessionState = { last: 0, ids: new Set(), fullIdOf: new Map() };
    this.#sessions.set(session, state);
    return state;
  }

  #drop({ session, id, shortId }: Entry): void {
    const state = this.#sessions.peek(session);
    state?.ids.delete(id);
    if (shortId !== null) state?.fullIdOf.delete(shortId);
  }
}

function keyOf(session: string, id: string): string {
  return `${session}\n${id}`;
}
