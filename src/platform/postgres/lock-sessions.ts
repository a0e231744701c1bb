import type { Client } from './client.ts';
import { openSession } from './session.ts';
import type { Sql } from './sql.ts';

/** Time to keep a session open without a lock. */
const KEPT_MS = 2_000;
const KEPT_MAX = 4;
const END_SECONDS = 2;

/** Session that at most one holder of a lock uses at a time. */
export interface LockSession {
  readonly client: Client;
  /** Process id of the server. If another process answers a statement, the session is lost. */
  readonly pid: number;
  /** Called when the connection is closed. */
  onClosed: () => void;
  /** Time without a message after which the server ends the session. */
  readonly silenceMs: number;
}

/**
 * Sessions for locks of a database. A session that has released its lock stays open for a moment: a new one costs
 * PostgreSQL about ten milliseconds of work, and ingest takes locks several times a second.
 */
export class LockSessions {
  readonly #sql: Sql;
  readonly #kept = new Map<LockSession, NodeJS.Timeout>();
  #isClosed = false;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /**
   * Take a session that holds no lock.
   * @param silenceMs time without a message after which the server ends the session
   * @throws the error of postgres.js if there is no connection
   */
  async take(silenceMs: number): Promise<LockSession> {
    for (const [session, timer] of this.#kept) {
      if (session.silenceMs !== silenceMs) continue;
      clearTimeout(timer);
      this.#kept.delete(session);
      session.onClosed = () => undefined;
      return session;
    }
    return this.#open(silenceMs);
  }

  /** Return a session that no longer holds a lock. */
  async give(session: LockSession): Promise<void> {
    if (this.#isClosed || this.#kept.size >= KEPT_MAX) return endSession(session);
    const forget = () => {
      clearTimeout(this.#kept.get(session));
      this.#kept.delete(session);
      return endSession(session);
    };
    session.onClosed = () => void forget();
    this.#kept.set(session, setTimeout(forget, Math.min(KEPT_MS, session.silenceMs / 2)).unref());
  }

  /** End the sessions that hold no lock, and keep no session open from now on. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const kept = [...this.#kept];
    this.#kept.clear();
    for (const [, timer] of kept) clearTimeout(timer);
    await Promise.all(kept.map(([session]) => endSession(session)));
  }

  async #open(silenceMs: number): Promise<LockSession> {
    let session: LockSession | null = null;
    const client = openSession(this.#sql, () => session?.onClosed());
    try {
      // Override the role's limits, which could abort the wait. The server must notice a lost client that waits for or
      // holds the lock. It must also end the session of a holder that sends no heartbeat, even if the holder doesn't
      // know yet that it has the lock.
      const [row] = await client<{ pid: number }[]>`
        select pg_backend_pid() as pid, set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),
               set_config('idle_session_timeout', ${String(silenceMs)}, false),
               set_config('client_connection_check_interval', '2s', false),
               set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false),
               set_config('tcp_keepalives_count', '4', false)`;
      session = { client, pid: row?.pid ?? 0, onClosed: () => undefined, silenceMs };
      return session;
    } catch (error) {
      await client.end({ timeout: END_SECONDS });
      throw error;
    }
  }
}

/** End a session, which releases its lock. */
export async function endSession({ client }: LockSession): Promise<void> {
  await client.end({ timeout: END_SECONDS });
}

const sessionsOfDatabases = new WeakMap<Sql, LockSessions>();

/** Return the sessions for locks of a database. */
export function lockSessionsOf(sql: Sql): LockSessions {
  const known = sessionsOfDatabases.get(sql) ?? new LockSessions(sql);
  sessionsOfDatabases.set(sql, known);
  return known;
}
