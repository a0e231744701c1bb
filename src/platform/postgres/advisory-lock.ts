import { setTimeout as delay } from 'node:timers/promises';
import { answerWithin } from '../answer-within.ts';
import { conflict } from '../errors.ts';
import { endSession, type LockSession, lockSessionsOf } from './lock-sessions.ts';
import type { Sql } from './sql.ts';

/**
 * Time without a heartbeat after which the server takes the lock from a holder (its process hangs, was stopped, or is
 * unreachable), and time without an answer to a heartbeat after which the holder counts the lock as lost.
 */
const SILENCE_MS = 10_000;
const HEARTBEATS = 3;
/** Time in which the server must confirm the release of a lock. Later, the end of the session releases it. */
const UNLOCK_MS_MAX = 2_000;

/**
 * Run `fn` while holding the advisory lock named `key` (any string; the lock is PostgreSQL's 64-bit hash of it). The
 * wait for the lock is unlimited unless `signal` aborts. The lock belongs to a connection of its own and is lost with
 * it: `fn` must call `stillHeld()` right before a step that only the holder may take, and `lost` aborts when the loss
 * is noticed. A holder that hangs or is unreachable loses the lock after 10 s; one whose machine fails, after some 30
 * s.
 *
 * `sql` must connect to PostgreSQL directly, not through a transaction-pooling proxy.
 * @param options.waits false to fail at once if the lock is held
 * @param options.silenceMs time of the server without a heartbeat, and of the holder without an answer
 * @throws the reason of the signal if it aborts during the wait; the error of postgres.js if there is no connection;
 *   AppError `lock_held` (409) without waiting
 */
export async function withAdvisoryLock<T>(
  sql: Sql,
  key: string,
  fn: (stillHeld: () => Promise<boolean>, lost: AbortSignal) => Promise<T>,
  options: { signal?: AbortSignal; waits?: boolean; silenceMs?: number } = {},
): Promise<T> {
  const { signal, waits = true, silenceMs = SILENCE_MS } = options;
  signal?.throwIfAborted();
  const loss = new AbortController();
  const sessions = lockSessionsOf(sql);
  const session = await sessions.take(silenceMs);
  session.onClosed = () => loss.abort(new Error(`the connection that held the lock ${key} was lost`));
  const { client } = session;
  let isFree = false;
  try {
    const waiting = (
      waits
        ? client<{ pid: number }[]>`
            select pg_backend_pid() as pid from pg_advisory_lock(hashtextextended(${key}, 0))`
        : client<{ pid: number }[]>`
            select pg_backend_pid() as pid where pg_try_advisory_lock(hashtextextended(${key}, 0))`
    ).execute();
    const answered = new AbortController();
    const lostAnswer = noticeLostAnswer(sql, session.pid, silenceMs, answered.signal);
    // The server ends the wait once it sees the connection closed (`client_connection_check_interval`).
    const cancel = () => void client.end({ timeout: 0 });
    signal?.addEventListener('abort', cancel, { once: true });
    const [holder] = await Promise.race([waiting, lostAnswer])
      .catch((error: unknown) => {
        signal?.throwIfAborted();
        throw error;
      })
      .finally(() => {
        answered.abort();
        signal?.removeEventListener('abort', cancel);
      });
    if (holder === undefined) {
      isFree = true;
      throw conflict(`another process holds the lock "${key}"`, 'lock_held');
    }
    // postgres.js has opened another connection. Its session would outlive a holder that hangs.
    if (holder.pid !== session.pid) throw connectionLost();

    let answeredMs = performance.now();
    const beat = () => {
      if (performance.now() - answeredMs < silenceMs) {
        const onAnswer = () => {
          answeredMs = performance.now();
        };
        client`select 1`.then(onAnswer, () => undefined);
        return;
      }
      loss.abort(new Error(`the server has not answered the holder of the lock ${key} for ${silenceMs} ms`));
      // This also ends questions that wait for an answer.
      void client.end({ timeout: 0 });
    };
    const heartbeat = setInterval(beat, silenceMs / (HEARTBEATS + 1));
    heartbeat.unref();

    const stillHeld = async (): Promise<boolean> => {
      if (loss.signal.aborted) return false;
      try {
        const [row] = await client<{ held: boolean }[]>`select pg_backend_pid() = ${holder.pid} as held`;
        return row?.held === true && !loss.signal.aborted;
      } catch (error) {
        // The connection may close a moment later; postgres.js never answers queries sent until then.
        loss.abort(error);
        return false;
      }
    };
    try {
      return await fn(stillHeld, loss.signal);
    } finally {
      clearInterval(heartbeat);
      if (!loss.signal.aborted) isFree = await unlock(session);
    }
  } finally {
    await (isFree ? sessions.give(session) : endSession(session));
  }
}

/**
 * Release the locks of a session. postgres.js never answers queries sent between the error of a connection and its end.
 * @returns true if the session now holds no lock and can be used again
 */
async function unlock({ client, pid }: LockSession): Promise<boolean> {
  try {
    const answer = client<{ pid: number }[]>`select pg_advisory_unlock_all(), pg_backend_pid() as pid`;
    const [row] = await answerWithin(UNLOCK_MS_MAX, answer);
    return row?.pid === pid;
  } catch {
    return false;
  }
}

function connectionLost(): Error {
  return Object.assign(new Error('the connection was lost before the lock was taken'), { code: 'CONNECTION_CLOSED' });
}

/**
 * Reject when the server has answered the query of a session, or has ended the session, and nothing of this has arrived
 * here; a wait for a lock takes any time. What was lost may be sent again only after minutes.
 */
async function noticeLostAnswer(sql: Sql, pid: number, silenceMs: number, signal: AbortSignal): Promise<never> {
  for (;;) {
    await delay(silenceMs, undefined, { signal, ref: false });
    const [row] = await sql`select state = 'active' as waits from pg_stat_activity where pid = ${pid}`;
    if (row?.['waits'] === true) continue;
    await delay(silenceMs / HEARTBEATS, undefined, { signal, ref: false });
    throw Object.assign(new Error('the answer of the server was lost'), { code: 'ETIMEDOUT' });
  }
}

/** Limit of a transaction that only holds a lock, while its holder works outside the database. */
const SHARED_MS_MAX = 600_000;

/**
 * Run `fn` while sharing the advisory lock named `key` with any number of other holders. Nobody can hold it by
 * `withAdvisoryLock` meanwhile. The wait is limited to 15 s. The lock belongs to a separate transaction, so this works
 * through a transaction-pooling proxy.
 * @throws the error of postgres.js if the wait takes too long, or if there is no connection
 */
export async function withSharedAdvisoryLock<T>(sql: Sql, key: string, fn: () => Promise<T>): Promise<T> {
  return sql.begin(async (tx) => {
    await tx`select set_config('idle_in_transaction_session_timeout', ${String(SHARED_MS_MAX)}, true)`;
    await tx`select pg_advisory_xact_lock_shared(hashtextextended(${key}, 0))`;
    return fn();
  });
}
