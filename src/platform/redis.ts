import { Redis } from 'ioredis';
import { AppError, dependencyDown } from './errors.ts';
import type { Logger } from './logger.ts';
import type { Secret } from './secret.ts';

export interface RedisSettings {
  /** `redis://` or `rediss://` (TLS), with user, password and database number as usual, or the path of a unix socket. */
  readonly url: Secret;
}

export interface RedisConnection {
  /**
   * Commands. They fail at once while Redis is away and after 1 s without an answer, and are never sent twice: what
   * uses Redis must be able to do without it.
   */
  readonly client: Redis;
  /** Whether a command would be sent now. */
  readonly isReady: boolean;
  /**
   * Ask for a sign of life; waits for the first attempt to connect, not for later ones.
   *
   * @throws AppError `redis_unavailable` (503)
   */
  ping(): Promise<void>;
  close(): Promise<void>;
}

const CONNECT_MS = 5000;
const COMMAND_MS = 1000;
/** Without a byte for that long, with answers due, the connection counts as dead and is made anew. */
const SILENCE_MS = 5000;
const RECONNECT_MS_MAX = 1000;

/**
 * Connect in the background, and again whenever the connection is lost. An outage is logged once, when it begins, and
 * its end once. The URL's credentials are never logged.
 *
 * @throws AppError `config_invalid` for a URL of another kind
 */
export function openRedis(settings: RedisSettings, logger: Logger): RedisConnection {
  const url = settings.url.reveal();
  const place = placeOf(url);
  const client = new Redis(url, {
    lazyConnect: true,
    connectTimeout: CONNECT_MS,
    commandTimeout: COMMAND_MS,
    socketTimeout: SILENCE_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 10), RECONNECT_MS_MAX),
    connectionName: 'service',
    // A replica that was the primary until now: another connection finds the new one.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
  });
  let isDown = false;
  let isClosing = false;
  const noteOutage = (reason: string) => {
    if (isDown || isClosing) return;
    isDown = true;
    logger.warn({ redis: place, reason }, 'Redis is not reachable; going on without it');
  };
  // Never the error itself: ioredis puts the failed command into it, AUTH with its password too.
  client.on('error', (error: Error) => noteOutage(reasonOf(error)));
  client.on('close', () => noteOutage('connection closed'));
  client.on('ready', () => {
    if (isDown) logger.info({ redis: place }, 'Redis is back');
    isDown = false;
  });
  const firstAttempt = client.connect().catch(() => undefined);

  return {
    client,
    get isReady() {
      return client.status === 'ready';
    },
    async ping() {
      await firstAttempt;
      try {
        await client.ping();
      } catch (error) {
        const reason = reasonOf(error as Error);
        throw dependencyDown('redis', 'Redis does not answer', new Error(`${place}: ${reason}`));
      }
    },
    async close() {
      isClosing = true;
      if (client.status === 'ready') await client.quit().catch(() => undefined);
      client.disconnect();
      await firstAttempt;
    },
  };
}

/** Host and port, or the socket's path: what may be shown of the URL. */
function placeOf(url: string): string {
  if (/^\/[^/]/.test(url)) return url.replace(/\?.*/s, '');
  if (/^rediss?:\/\//i.test(url) && URL.canParse(url)) {
    const { hostname, port } = new URL(url);
    return `${hostname || 'localhost'}:${port || 6379}`;
  }
  throw new AppError({
    code: 'config_invalid',
    status: 500,
    message: 'redis_url (REDIS_URL) must begin with redis:// or rediss://, or be the path of a unix socket',
  });
}

function reasonOf(error: Error): string {
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? error.message : `${code}: ${error.message}`;
}
