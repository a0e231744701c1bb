import { z } from 'zod';
import { Secret } from './secret.ts';

const PORT_MAX = 65_535;
const DEFAULT_PORT = 26_379;
const SENTINELS_MAX = 16;

/** Address of a Sentinel: a host name, an IPv4 address or an IPv6 address in brackets, with a port or without one. */
const ADDRESS = /^(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9][A-Za-z0-9._-]*)(?::(\d{1,5}))?$/;

const secret = z.string().transform((value) => new Secret(value));

/** Settings of Redis in `service.yaml`. */
export const redisSettings = {
  redis_url: z
    .string()
    .regex(/^rediss?:\/\/|^\//, 'must be a redis:// or rediss:// URL, or the path of a socket')
    .transform((value) => new Secret(value))
    .optional()
    .describe('shared cache, request rates and notifications of several processes'),
  redis: z
    .strictObject({
      sentinels: z
        .array(
          z
            .string()
            .refine((address) => sentinelOf(address) !== null, 'must be HOST or HOST:PORT, such as 10.0.0.7:26379'),
        )
        .min(1)
        .max(SENTINELS_MAX)
        .optional()
        .describe(
          'addresses of the Sentinels (HOST:PORT), which name the primary in place of the host of redis_url; user, password, database number and TLS of the servers stay those of redis_url',
        ),
      primary: z.string().min(1).max(128).default('mymaster').describe('name of the primary in the Sentinels'),
      sentinel_username: z.string().min(1).optional().describe('user at the Sentinels'),
      sentinel_password: secret.optional().describe('password at the Sentinels'),
      sentinel_tls: z.boolean().default(false).describe('connect to the Sentinels by TLS'),
    })
    .prefault({})
    .describe('fail-over of Redis by Sentinel'),
};

type RedisFile = z.output<z.ZodObject<typeof redisSettings>>;

export interface RedisSettings {
  /**
   * `redis://` or `rediss://` (TLS), with user, password and database number as usual, or the path of a unix socket.
   */
  readonly url: Secret;
  /** Sentinels that name the server, instead of the host of `url`. */
  readonly sentinel?: SentinelSettings | null;
}

export interface SentinelSettings {
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** Name of the primary in the Sentinels. */
  readonly primary: string;
  readonly username: string | null;
  readonly password: Secret | null;
  readonly hasTls: boolean;
}

export function redisConfigOf({ redis_url: url, redis }: RedisFile): { redis: RedisSettings | null } {
  if (url === undefined) return { redis: null };
  const addresses = redis.sentinels?.flatMap((address) => sentinelOf(address) ?? []);
  if (addresses === undefined) return { redis: { url, sentinel: null } };
  const { primary, sentinel_username: username, sentinel_password: password, sentinel_tls: hasTls } = redis;
  return {
    redis: { url, sentinel: { addresses, primary, username: username ?? null, password: password ?? null, hasTls } },
  };
}

/** Find settings that contradict each other; `path` is the setting where a person will look for the fault. */
export function redisFaults({ redis_url: url, redis }: RedisFile): { path: string[]; message: string }[] {
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

/** Parse HOST or HOST:PORT; null if it is neither. */
function sentinelOf(address: string): { host: string; port: number } | null {
  const [, host, digits] = ADDRESS.exec(address) ?? [];
  const port = Number(digits ?? DEFAULT_PORT);
  if (host === undefined || port < 1 || port > PORT_MAX) return null;
  return { host: host.replace(/^\[|\]$/g, ''), port };
}
