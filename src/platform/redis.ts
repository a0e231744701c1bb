import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { AppError, dependencyDown } from './errors.ts';
import type { Logger } from './logger.ts';
import { NETWORK_REASONS } from './network-reasons.ts';
import { decodePercent } from './percent-encoding.ts';
import type { RedisAddress, RedisSettings, SentinelSettings } from './redis-settings.ts';

type SentinelOptions = Pick<
  RedisOptions,
  | 'sentinels'
  | 'name'
  | 'sentinelUsername'
  | 'sentinelPassword'
  | 'sentinelTLS'
  | 'enableTLSForSentinelMode'
  | 'sentinelCommandTimeout'
  | 'sentinelRetryStrategy'
>;

/**
 * ioredis client for bee-queue. bee-queue accepts only clients whose constructor is named `Redis` or `RedisClient`. The
 * `constructor` of a plain ioredis 6 client is an event emitter.
 */
export class RedisClient extends Redis {}

export interface RedisConnection {
  /**
   * Client for commands. They fail immediately while Redis is unreachable, and after 1 s without an answer. They are
   * never resent. Every caller must be able to work without Redis.
   */
  readonly client: RedisClient | Cluster;
  /** True if the keys are spread over several servers. A command may then name only keys of one slot. */
  readonly isCluster: boolean;
  /** True if a command would be sent immediately. */
  readonly isReady: boolean;
  /**
   * Send PING. Wait for the first attempt to connect, but not for later ones.
   * @throws AppError `redis_unavailable` (503)
   */
  ping(): Promise<void>;
  /**
   * Open a separate connection to the server: in a cluster, the server that currently holds `key`. Once the key has
   * moved, that server refuses commands (MOVED). `close` also closes this connection.
   *
   * @throws the cluster's error if it doesn't name the server
   */
  connectTo(key: string, options?: RedisOptions): Promise<RedisClient>;
  close(): Promise<void>;
}

const CONNECT_MS = 5000;
const COMMAND_MS = 1000;
/** Time without a byte while answers are pending, after which the connection counts as lost and is reopened. */
const SILENCE_MS = 5000;
const RECONNECT_MS_MAX = 1000;

/**
 * Connect to Redis in the background, and reconnect whenever the connection is lost. Log the start and the end of an
 * outage once each. Never log the URL's credentials.
 * @throws AppError `config_invalid` if the URL isn't a Redis URL
 */
export function openRedis(settings: RedisSettings, logger: Logger): RedisConnection {
  const url = settings.url.reveal();
  const { sentinel = null, cluster = null } = settings;
  const ownAddress = addressOf(url);
  const address = describePlace(settings, ownAddress);
  const client = cluster === null ? openServer(url, sentinel) : openCluster(url, cluster);
  const opened = new Set<RedisClient>();
  let isDown = false;
  let isClosing = false;
  /** Reason of this connection's last failure, which the error of a later command lacks. */
  let lastReason: string | null = null;
  /** Reason of the last failure of a cluster node. */
  let serverReason: string | null = null;
  const causeOf = (error: Error) => lastReason ?? describeRedisFailure(error);
  const noteOutage = (reason: string) => {
    if (isDown || isClosing) return;
    isDown = true;
    logger.warn(
      { redis: address, setting: 'REDIS_URL', reason },
      'Redis is not reachable; the service continues without it',
    );
  };
  // Never log the error itself: it contains the failed command, such as AUTH with its password.
  client.on('error', (error: Error) => {
    lastReason = serverReason ?? describeRedisFailure(error);
    noteOutage(lastReason);
  });
  // A cluster's error doesn't state a reason. A node's error does, unless the node was unreachable.
  client.on('node error', (error: Error) => {
    const isUnreachable = error.message === 'Connection is closed.';
    serverReason = isUnreachable ? 'no server of the cluster answers' : describeRedisFailure(error);
  });
  client.on('close', () => noteOutage('connection closed'));
  client.on('ready', () => {
    if (isDown) logger.info({ redis: address }, 'Redis is reachable again');
    isDown = false;
    lastReason = null;
    serverReason = null;
  });
  // While no Sentinel answers, `connect` neither succeeds nor fails.
  const firstFailure = new Promise<void>((resolve) => client.once('error', () => resolve()));
  const firstAttempt = Promise.race([client.connect().catch(() => undefined), firstFailure]);

  return {
    client,
    isCluster: cluster !== null,
    get isReady() {
      return client.status === 'ready';
    },
    async connectTo(key, options = {}) {
      const place = client instanceof Cluster ? await ownerOf(client, key) : {};
      const own = client instanceof Cluster ? { ...client.options.redisOptions } : client.options;
      const connected = new RedisClient({ ...own, lazyConnect: false, ...options, ...place } as never);
      opened.add(connected);
      connected.once('end', () => opened.delete(connected));
      return connected;
    },
    async ping() {
      await firstAttempt;
      try {
        await client.ping();
      } catch (error) {
        throw dependencyDown('redis', `Redis at ${address} (REDIS_URL) cannot be used: ${causeOf(error as Error)}`);
      }
    },
    async close() {
      isClosing = true;
      for (const each of opened) each.disconnect();
      if (client.status === 'ready') await client.quit().catch(() => undefined);
      client.disconnect();
      await firstAttempt;
    },
  };
}

const OPTIONS = {
  connectTimeout: CONNECT_MS,
  commandTimeout: COMMAND_MS,
  socketTimeout: SILENCE_MS,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  connectionName: 'service',
} as const;

const reconnectMs = (attempt: number) => Math.min(50 * 2 ** Math.min(attempt, 10), RECONNECT_MS_MAX);

function openServer(url: string, sentinel: SentinelSettings | null): RedisClient {
  return new RedisClient(url, {
    ...OPTIONS,
    lazyConnect: true,
    enableOfflineQueue: false,
    retryStrategy: reconnectMs,
    // This server was the primary and is a replica now. A new connection finds the new primary.
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    ...(sentinel === null ? {} : sentinelOptions(sentinel, /^rediss:/i.test(url))),
  });
}

/** Maximum redirections per command, and the pause before it looks for the new primary after a failover. */
const REDIRECTIONS_MAX = 3;
const FAILOVER_PAUSE_MS = 50;

function openCluster(url: string, addresses: readonly RedisAddress[]): Cluster {
  const { username, password, protocol } = new URL(url);
  const hasTls = protocol === 'rediss:';
  return new Cluster([...addresses], {
    lazyConnect: true,
    enableOfflineQueue: false,
    clusterRetryStrategy: reconnectMs,
    maxRedirections: REDIRECTIONS_MAX,
    retryDelayOnFailover: FAILOVER_PAUSE_MS,
    retryDelayOnClusterDown: FAILOVER_PAUSE_MS,
    slotsRefreshTimeout: COMMAND_MS,
    // Certificates name hosts, so keep host names instead of resolving them.
    ...(hasTls ? { dnsLookup: (host: string, done: (error: null, address: string) => void) => done(null, host) } : {}),
    redisOptions: {
      ...OPTIONS,
      ...(username === '' ? {} : { username: decodePercent(username) }),
      ...(password === '' ? {} : { password: decodePercent(password) }),
      ...(hasTls ? { tls: {} } : {}),
    },
  });
}

/** Ask a cluster for the primary that holds a key. */
async function ownerOf(cluster: Cluster, key: string): Promise<RedisAddress> {
  const slot = await cluster.cluster('KEYSLOT', key);
  for (const [from, to, primary] of await cluster.cluster('SLOTS')) {
    if (primary !== undefined && from <= slot && slot <= to) return { host: primary[0], port: primary[1] };
  }
  throw new Error(`no server of the cluster holds slot ${slot}`);
}

function describePlace({ sentinel, cluster }: RedisSettings, ownAddress: string): string {
  if (cluster) return `the cluster of ${showAddresses(cluster)}`;
  return sentinel ? `${sentinel.primary} of the Sentinels ${showAddresses(sentinel.addresses)}` : ownAddress;
}

/**
 * Return the options of a client that asks the Sentinels for the primary at each connection. After a failover, the
 * Sentinels close the old primary's connections as soon as they can reach it.
 */
function sentinelOptions(sentinel: SentinelSettings, hasTls: boolean): SentinelOptions {
  return {
    sentinels: [...sentinel.addresses],
    name: sentinel.primary,
    ...(sentinel.username === null ? {} : { sentinelUsername: sentinel.username }),
    ...(sentinel.password === null ? {} : { sentinelPassword: sentinel.password.reveal() }),
    ...(sentinel.hasTls ? { sentinelTLS: {} } : {}),
    enableTLSForSentinelMode: hasTls,
    sentinelCommandTimeout: COMMAND_MS,
    sentinelRetryStrategy: reconnectMs,
  };
}

function showAddresses(addresses: readonly RedisAddress[]): string {
  return addresses.map(({ host, port }) => (host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`)).join(', ');
}

/** Return the part of the URL that may be shown: host and port, or the path of the socket. */
function addressOf(url: string): string {
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

/** Explanations of Redis errors, by the first word of the message. */
const REFUSALS: Readonly<Record<string, string>> = {
  WRONGPASS: 'it refuses this user and password',
  NOAUTH: 'it needs a password',
  NOPERM: 'this user may not use the commands that are needed',
  LOADING: 'it is loading its data; try again shortly',
  MASTERDOWN: 'it is a replica without its primary',
};

/** Describe why Redis can't be used. Repeat its own message only if there is no explanation for it. */
function describeRedisFailure(error: Error): string {
  const { code = '' } = error as NodeJS.ErrnoException;
  if (error.message.startsWith('All sentinels are unreachable'))
    return 'no Sentinel answers with a primary of this name';
  const [first = ''] = error.message.split(' ');
  const known = REFUSALS[first] ?? NETWORK_REASONS[code];
  if (known !== undefined) return `${known} (${code || first})`;
  return code === '' ? error.message : `${code}: ${error.message}`;
}
