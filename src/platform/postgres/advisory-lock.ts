import { setTimeout as delay } from 'node:timers/promises';
import { answerWithin } from '../answer-within.ts';
import { conflict } from '../errors.ts';
import { endSession, type LockSession, lockSessionsOf } from './lock-sessions.ts';
import type { Sql } from './sql.ts';

/**
 * Time without a heartbeat after which the server takes the lock from a holder whose process hangs, was stopped or is
 * unreachable. After the same time without an answer to a heartbeat, the holder considers the lock lost.
 */
const SILENCE_MS = 10_000;
const HEARTBEATS = 3;
/** Time in which the server must confirm the release of a lock. After that, end the session to release it. */
const UNLOCK_MS_MAX = 2_000;

/**
 * Run `fn` while holding the advisory lock named `key` (any string; the lock is PostgreSQL's 64-bit hash of it). Wait
 * for the lock without a limit unless `signal` aborts. The lock belongs to its own connection and is lost with it.
 * Therefore `fn` must call `stillHeld()` right before a step that only the holder may take. `lost` aborts when the loss
 * is noticed. A holder that hangs or is unreachable loses the lock after 10 s; one whose machine fails, after about 30
 * s.
 *
 * `sql` must connect to PostgreSQL directly, not through a transaction-pooling proxy.
 * @param options.waits false to fail at once if the lock is held
 * @param options.silenceMs limit on the server's time without a heartbeat, and the holder's time without an answer
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
    // The server ends the wait once it notices that the connection is closed (`client_connection_check_interval`).
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
    // postgres.js has opened another connection, whose session would outlive a hanging holder.
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
      // This also ends pending queries.
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
        // The connection may close a moment later. postgres.js never settles queries sent until then.
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
 * Release the locks of a session. postgres.js never settles queries sent between a connection's error and its end.
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
 * Reject if the server has answered the session's query, or ended the session, but nothing has arrived here. A wait for
 * a lock may take any time, so silence alone proves nothing, and lost packets may be resent only after minutes.
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

/** Time limit of a transaction that only holds a lock while its holder works outside the database. */
const SHARED_MS_MAX = 600_000;

/**
 * Run `fn` while sharing the advisory lock named `key` with any number of other holders. Meanwhile, nobody can hold it
 * by `withAdvisoryLock`. Wait at most 15 s. The lock belongs to a separate transaction, so this works through a
 * transaction-pooling proxy.
 * @throws the error of postgres.js if the wait takes too long, or if there is no connection
 */
export async function withSharedAdvisoryLock<T>(sql: Sql, key: string, fn: () => Promise<T>): Promise<T> {
  return sql.begin(async (tx) => {
    await tx`select set_config('idle_in_transaction_session_timeout', ${String(SHARED_MS_MAX)}, true)`;
    await tx`select pg_advisory_xact_lock_shared(hashtextextended(${key}, 0))`;
    return fn();
  });
}
