import { LRUCache } from 'lru-cache';
import type { Caller } from './caller.ts';

/** Result of a look-up: the caller, and the remaining lifetime of the credential (null: unlimited). */
export interface Resolved {
  readonly caller: Caller;
  readonly endsInMs: number | null;
}

export interface CredentialCache {
  /** Return the caller if one was found for this credential within the last `cacheMs`. */
  get(credentialHash: string): Caller | undefined;
  /** Run the look-up, or share another request's pending look-up of this credential. */
  load(credentialHash: string, lookUp: () => Promise<Resolved>): Promise<Caller>;
  /** Forget a credential, and discard the result of a pending look-up. */
  forget(credentialHash: string): void;
  /** Forget every credential. */
  clear(): void;
}

/**
 * Open a cache of successful look-ups. An entry is valid for `cacheMs` from the start of the look-up, because its data
 * may have been read then. For the same reason, a request shares a pending look-up only during its first `cacheMs`.
 * Thus a revocation applies to every request that arrives `cacheMs` after it.
 */
export function openCredentialCache(settings: { cacheMs: number; cacheEntriesMax: number }): CredentialCache {
  const { cacheMs, cacheEntriesMax } = settings;
  // The library's TTL isn't exact: 0 means unlimited, and an entry is still returned in its last millisecond.
  const answers = new LRUCache<string, { caller: Caller; untilMs: number }>({ max: cacheEntriesMax });
  const pending = new Map<string, { answer: Promise<Caller>; startedMs: number }>();

  return {
    get(credentialHash) {
      // `get` would change the order. With `peek`, the entry that expires first is evicted first.
      const known = answers.peek(credentialHash);
      return known && performance.now() < known.untilMs ? known.caller : undefined;
    },
    load(credentialHash, lookUp) {
      const startedMs = performance.now();
      const shared = pending.get(credentialHash);
      if (shared && startedMs < shared.startedMs + cacheMs) return shared.answer;
      const answer = lookUp()
        .then(({ caller, endsInMs }) => {
          if (pending.get(credentialHash)?.answer === answer)
            answers.set(credentialHash, { caller, untilMs: startedMs + Math.min(cacheMs, endsInMs ?? cacheMs) });
          return caller;
        })
        .finally(() => {
          if (pending.get(credentialHash)?.answer === answer) pending.delete(credentialHash);
        });
      pending.set(credentialHash, { answer, startedMs });
      return answer;
    },
    forget(credentialHash) {
      answers.delete(credentialHash);
      pending.delete(credentialHash);
    },
    clear() {
      answers.clear();
      pending.clear();
    },
  };
}
