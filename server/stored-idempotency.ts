import { abandonIdempotent, beginIdempotent, extendIdempotent, finishIdempotent } from '../src/access/idempotency.ts';
import { documentIdsIn, isAnyUnreadable } from '../src/documents/hidden-among-store.ts';
import type { Sql } from '../src/platform/postgres.ts';
import type { KeyRing } from '../src/platform/secret-key.ts';
import type { Idempotency } from './middleware/idempotency.ts';

/** Time without a heartbeat after which a request that holds an Idempotency-Key counts as dead. */
const LOCK_MS = 60_000;

/** Open the store of first responses in PostgreSQL. Responses with a secret are encrypted. */
export function storedIdempotency(sql: Sql, keyRing: Pick<KeyRing, 'encryption'>, lockMs = LOCK_MS): Idempotency {
  const encryptionKey = keyRing.encryption;
  return {
    begin: (request) => beginIdempotent(sql, { ...request, lockMs, encryptionKey }),
    // Two extensions may fail before the lock expires.
    extendEveryMs: lockMs / 4,
    extend: (lock) => extendIdempotent(sql, lock, lockMs),
    finish: (lock, { status, body, hasSecret }) =>
      finishIdempotent(sql, lock, { status, body, encryptionKey: hasSecret ? encryptionKey : undefined }),
    abandon: (lock) => abandonIdempotent(sql, lock),
    showsHidden: (caller, body) => isAnyUnreadable(sql, caller, documentIdsIn(body)),
  };
}
