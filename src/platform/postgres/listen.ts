import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '../logger.ts';
import type { Sql } from './pool.ts';
import { openSession } from './siblings.ts';

const RETRY_MS = 250;
const RETRY_MS_MAX = 5_000;
/** How often a silent connection is asked whether it still lives: the other end may have gone without a word. */
const CHECK_MS = 15_000;

/**
 * Call `onNotification` with the payload of every NOTIFY on `channel`, until `signal` aborts. Notifications sent while the
 * connection was away are lost: after each reconnection `onNotification(null)` says so.
 *
 * Resolves when it listens for the first time (or `signal` has aborted); a database that is away is waited for.
 * `sql` must reach PostgreSQL directly, not through a transaction-pooling proxy.
 */
export function listenChannel(
  sql: Sql,
  channel: string,
  onNotification: (payload: string | null) => void,
  options: { signal: AbortSignal; logger?: Logger },
): Promise<void> {
  const { signal, logger } = options;
  return new Promise((resolve) => {
    let hasListened = false;
    let failures = 0;
    const onListening = () => {
      failures = 0;
      if (hasListened) onNotification(null);
      hasListened = true;
      resolve();
    };
    void (async () => {
      while (!signal.aborted) {
        try {
          await listenOnce(sql, channel, onNotification, onListening, signal);
        } catch (error) {
          logger?.debug({ err: error, channel }, 'listening failed');
        }
        if (signal.aborted) break;
        const retryMs = Math.min(RETRY_MS * 2 ** failures++, RETRY_MS_MAX);
        logger?.warn({ channel, retry_ms: retryMs }, 'the connection that listens for notifications is gone');
        await delay(retryMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
      }
      resolve();
    })();
  });
}

/** Listen on one connection; resolves when that is lost or `signal` aborts. */
async function listenOnce(
  sql: Sql,
  channel: string,
  onNotification: (payload: string) => void,
  onListening: () => void,
  signal: AbortSignal,
): Promise<void> {
  const closed = new AbortController();
  const session = openSession(sql, {
    onclose: () => closed.abort(),
    onnotify: (name, payload) => {
      if (name === channel && !signal.aborted) onNotification(payload);
    },
  });
  const over = AbortSignal.any([closed.signal, signal]);
  try {
    await session`listen ${session(channel)}`;
    onListening();
    while (!over.aborted) {
      await delay(CHECK_MS, undefined, { signal: over }).catch(() => undefined);
      if (!over.aborted) await answered(session`select 1`);
    }
  } finally {
    await session.end({ timeout: 0 });
  }
}

/** Fails when `query` takes longer than the interval between two checks. */
async function answered(query: Promise<unknown>): Promise<void> {
  const timeout = new AbortController();
  try {
    await Promise.race([
      query,
      delay(CHECK_MS, undefined, { signal: timeout.signal }).then(() => Promise.reject(new Error('no answer'))),
    ]);
  } finally {
    timeout.abort();
  }
}
