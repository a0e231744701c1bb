import { LRUCache } from 'lru-cache';
import type { Caller } from './caller.ts';

/** What a look-up found: who is asking, and for how long the credential still lasts (null: without end). */
export interface Resolved {
  readonly caller: Caller;
  readonly endsInMs: number | null;
}

export interface CredentialCache {
  /** The caller, if one was found for this credential within the last `cacheMs`. */
  get(credentialHash: string): Caller | undefined;
  /** Run the look-up, or share the one that another request with this credential has begun. */
  load(credentialHash: string, lookUp: () => Promise<Resolved>): Promise<Caller>;
}

/**
 * Remembers good answers for `cacheMs`, counted from the start of the look-up: what it read may be as old as that.
 * For the same reason a request joins a look-up that is under way only during its first `cacheMs`. So a revocation
 * is seen by every request that comes `cacheMs` after it.
 */
export function openCredentialCache(settings: { cacheMs: number; cacheEntriesMax: number }): CredentialCache {
  const { cacheMs, cacheEntriesMax } = settings;
  // The library's own time to live is too long: 0 means for ever there, and an entry is given out in its last millisecond.
  const answers = new LRUCache<string, { caller: Caller; untilMs: number }>({ max: cacheEntriesMax });
  const underWay = new Map<string, { answer: Promise<Caller>; startedMs: number }>();

  return {
    get(credentialHash) {
      // Not `get`: the order stays that of the look-ups, so that the answer with the least time left goes first.
      const known = answers.peek(credentialHash);
      return known && performance.now() < known.untilMs ? known.caller : undefined;
    },
    load(credentialHash, lookUp) {
      const startedMs = performance.now();
      const shared = underWay.get(credentialHash);
      if (shared && startedMs < shared.startedMs + cacheMs) return shared.answer;
      const answer = lookUp()
        .then(({ caller, endsInMs }) => {
          answers.set(credentialHash, { caller, untilMs: startedMs + Math.min(cacheMs, endsInMs ?? cacheMs) });
          return caller;
        })
        .finally(() => {
          if (underWay.get(credentialHash)?.answer === answer) underWay.delete(credentialHash);
        });
      underWay.set(credentialHash, { answer, startedMs });
      return answer;
    },
  };
}
