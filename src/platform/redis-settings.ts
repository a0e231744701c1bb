import { z } from 'zod';
import { CREDENTIALS_ENCODED } from './percent-encoding.ts';
import { Secret } from './secret.ts';

const PORT_MAX = 65_535;
const SENTINEL_PORT = 26_379;
const SERVER_PORT = 6_379;
const ADDRESSES_MAX = 16;

/** Address of a server: a host name, an IPv4 address or an IPv6 address in brackets, with a port or without one. */
const ADDRESS = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(?::(\d{1,5}))?$/;

function addresses(example: string) {
  const address = z
    .string()
    .refine((text) => addressOf(text, SERVER_PORT) !== null, `must be HOST or HOST:PORT, such as ${example}`);
  return z.array(address).min(1).max(ADDRESSES_MAX);
}

const secret = z.string().transform((value) => new Secret(value));

/** Settings of Redis in `service.yaml`. */
export const redisSettings = {
  redis_url: z
    .string()
    .regex(/^rediss?:\/\/|^\//, 'must be a redis:// or rediss:// URL, or the path of a socket')
    .refine(...CREDENTIALS_ENCODED)
    .transform((value) => new Secret(value))
    .optional()
    .describe('address of Redis, for the shared cache, request rates and notifications of several processes'),
  redis: z
    .strictObject({
      sentinels: addresses('10.0.0.7:26379')
        .optional()
        .describe(
          'addresses of the Sentinels (HOST:PORT), which name the primary; redis_url still sets user, password, database number and TLS of the servers, but its host is not used',
        ),
      primary: z.string().min(1).max(128).default('mymaster').describe('name of the primary in the Sentinels'),
      sentinel_username: z.string().min(1).optional().describe('user name for the Sentinels'),
      sentinel_password: secret.optional().describe('password for the Sentinels'),
      sentinel_tls: z.boolean().default(false).describe('connect to the Sentinels by TLS'),
      cluster: addresses('10.0.0.7:6379')
        .optional()
        .describe(
          'addresses of some servers of a Redis Cluster (HOST:PORT), which name the others; redis_url still sets user, password and TLS of the servers, but its host is not used',
        ),
    })
    .prefault({})
    .describe('fail-over of Redis by Sentinel, or a Redis Cluster'),
};

type RedisFile = z.output<z.ZodObject<typeof redisSettings>>;

export interface RedisSettings {
  /** `redis://` or `rediss://` (TLS), with the usual user, password and database number, or a unix socket path. */
  readonly url: Secret;
  /** Sentinels that name the server in place of the host of `url`. */
  readonly sentinel?: SentinelSettings | null;
  /** Some nodes of a cluster, in place of the host of `url`. */
  readonly cluster?: readonly RedisAddress[] | null;
}

export interface RedisAddress {
  readonly host: string;
  readonly port: number;
}

export interface SentinelSettings {
  readonly addresses: readonly RedisAddress[];
  /** Name of the primary in the Sentinels. */
  readonly primary: string;
  readonly username: string | null;
  readonly password: Secret | null;
  readonly hasTls: boolean;
}

export function redisConfigOf({ redis_url: url, redis }: RedisFile): { redis: RedisSettings | null } {
  if (url === undefined) return { redis: null };
  const cluster = redis.cluster?.flatMap((address) => addressOf(address, SERVER_PORT) ?? []) ?? null;
  const addresses = redis.sentinels?.flatMap((address) => addressOf(address, SENTINEL_PORT) ?? []);
  if (addresses === undefined) return { redis: { url, sentinel: null, cluster } };
  const { primary, sentinel_username: username, sentinel_password: password, sentinel_tls: hasTls } = redis;
  return {
    redis: { url, sentinel: { addresses, primary, username: username ?? null, password: password ?? null, hasTls } },
  };
}

/** Find contradicting settings. `path` is the setting that the operator should look at. */
export function redisFaults({ redis_url: url, redis }: RedisFile): { path: string[]; message: string }[] {
  if (redis.cluster !== undefined) return clusterFaults(url, redis.sentinels !== undefined);
  if (redis.sentinels === undefined) {
    const alone = (['sentinel_username', 'sentinel_password'] as const).filter((name) => redis[name] !== undefined);
    return alone.map((name) => ({ path: ['redis', name], message: 'has no effect without redis.sentinels' }));
  }
  if (url === undefined) {
    const message =
      'needs REDIS_URL, which has the user, password and database number of the servers; its host is not used (redis://sentinel)';
    return [{ path: ['redis', 'sentinels'], message }];
  }
  if (url.reveal().startsWith('/')) {
    return [{ path: ['redis', 'sentinels'], message: 'cannot be used with the path of a socket in REDIS_URL' }];
  }
  return [];
}

function clusterFaults(url: Secret | undefined, hasSentinels: boolean): { path: string[]; message: string }[] {
  const path = ['redis', 'cluster'];
  if (hasSentinels) return [{ path, message: 'a Redis Cluster has its own failover; leave out redis.sentinels' }];
  if (url === undefined) {
    const message =
      'needs REDIS_URL, which has the user and password of the servers; its host is not used (redis://cluster)';
    return [{ path, message }];
  }
  if (url.reveal().startsWith('/')) return [{ path, message: 'cannot be used with the path of a socket in REDIS_URL' }];
  const database = URL.canParse(url.reveal()) ? new URL(url.reveal()).pathname.replace(/^\/0?$/, '') : '';
  if (database === '') return [];
  return [{ path, message: 'a Redis Cluster has the database 0 only; leave the number out of REDIS_URL' }];
}

/** Parse HOST or HOST:PORT. Return null for anything else. */
function addressOf(address: string, defaultPort: number): RedisAddress | null {
  const [, host, digits] = ADDRESS.exec(address) ?? [];
  const port = Number(digits ?? defaultPort);
  if (host === undefined || port < 1 || port > PORT_MAX) return null;
  return { host: host.replace(/^\[|\]$/g, ''), port };
}
