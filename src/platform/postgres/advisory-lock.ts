import type { Sql } from './pool.ts';
import { openSession } from './siblings.ts';

const END_SECONDS = 2;
/** A holder that says nothing for so long (its process hangs or was stopped) loses the lock to whoever waits. */
const SILENCE_MS_MAX = 10_000;
const BEAT_MS = 3_000;

/**
 * Run `fn` while holding the advisory lock named `key` (any string; PostgreSQL's 64-bit hash of it is the lock),
 * waiting for it as long as it takes or until `signal` aborts. The lock lives on a connection of its own and is
 * gone when that is: `fn` asks `stillHeld()` right before a step that only the holder may take, and `lost` aborts
 * when we learn of the loss. A holder that hangs loses the lock after 10 s, one whose machine vanishes after some 30 s.
 *
 * `sql` must reach PostgreSQL directly, not through a transaction-pooling proxy.
 *
 * @throws the signal's reason when aborted while waiting; what postgres.js throws when there is no connection
 */
export async function withAdvisoryLock<T>(
  sql: Sql,
  key: string,
  fn: (stillHeld: () => Promise<boolean>, lost: AbortSignal) => Promise<T>,
  options: { signal?: AbortSignal } = {},
): Promise<T> {
  const { signal } = options;
  signal?.throwIfAborted();
  const loss = new AbortController();
  const session = openSession(sql, {
    onclose: () => loss.abort(new Error(`the connection that held the lock ${key} is gone`)),
  });
  try {
    // No limit of the role's may cut the wait; a vanished client must be noticed, waiting or holding.
    await session`
      select set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),
             set_config('idle_session_timeout', '0', false), set_config('client_connection_check_interval', '2s', false),
             set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
             set_config('tcp_keepalives_count', '4', false)`;
    const waiting = session<{ pid: number }[]>`
      select pg_backend_pid() as pid from pg_advisory_lock(hashtextextended(${key}, 0))`.execute();
    const cancel = () => waiting.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    const [holder] = await waiting
      .catch((error: unknown) => {
        signal?.throwIfAborted();
        throw error;
      })
      .finally(() => signal?.removeEventListener('abort', cancel));

    // From here on the server ends the session of a holder that does not beat.
    await session`select set_config('idle_session_timeout', ${String(SILENCE_MS_MAX)}, false)`;
    const beat = setInterval(() => void session`select 1`.catch(() => undefined), BEAT_MS);
    beat.unref();

    const stillHeld = async (): Promise<boolean> => {
      if (loss.signal.aborted) return false;
      try {
        const [row] = await session<{ held: boolean }[]>`select pg_backend_pid() = ${holder?.pid ?? 0} as held`;
        return row?.held === true && !loss.signal.aborted;
      } catch {
        return false;
      }
    };
    try {
      return await fn(stillHeld, loss.signal);
    } finally {
      clearInterval(beat);
      // The end of the session releases it too, but some moments later.
      if (!loss.signal.aborted) await session`select pg_advisory_unlock_all()`.catch(() => undefined);
    }
  } finally {
    await session.end({ timeout: END_SECONDS });
  }
}
