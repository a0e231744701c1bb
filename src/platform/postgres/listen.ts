import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { answerWithin } from '../answer-within.ts';
import type { Logger } from '../logger.ts';
import { openSession } from './session.ts';
import type { Sql } from './sql.ts';

const RETRY_MS = 250;
const RETRY_MS_MAX = 5_000;
/** Interval for checking a silent connection, since the server may be gone without having closed it. */
const CHECK_MS = 15_000;

/**
 * Call `onNotification` with the payload of every NOTIFY on `channel`, until `signal` aborts. Notifications sent while
 * the connection is down are lost, so `onNotification(null)` is called after each reconnection.
 *
 * Resolves once it listens for the first time (it waits while the database is down), or when `signal` aborts. `sql`
 * must connect to PostgreSQL directly, not through a transaction-pooling proxy.
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
        logger?.warn(
          { channel, retry_ms: retryMs },
          'the connection that listens for notifications was lost; connecting again',
        );
        await delay(retryMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
      }
      resolve();
    })();
  });
}

/** Listen until `signal` aborts, or until the connection no longer receives notifications. */
async function listenOnce(
  sql: Sql,
  channel: string,
  onNotification: (payload: string) => void,
  onListening: () => void,
  signal: AbortSignal,
): Promise<void> {
  const session = openSession(sql);
  const probe = `check ${randomUUID()}`;
  let onProbe: () => void = () => undefined;
  try {
    // postgres.js reconnects by itself if it can, and listens to all of its channels again.
    await session.listen(probe, () => onProbe());
    await session.listen(channel, (payload) => signal.aborted || onNotification(payload), onListening);
    while (!signal.aborted) {
      await delay(CHECK_MS, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      const arrived = Promise.withResolvers<void>();
      onProbe = arrived.resolve;
      await answerWithin(CHECK_MS, Promise.all([sql.notify(probe, ''), arrived.promise]));
    }
  } finally {
    await session.end({ timeout: 0 });
  }
}

/** Send a notification to every process that listens on `channel`. */
export async function notifyChannel(sql: Sql, channel: string, payload: string): Promise<void> {
  await sql`SELECT pg_notify(${channel}, ${payload})`;
}
