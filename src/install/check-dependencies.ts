import { Redis } from 'ioredis';
import postgres from 'postgres';
import { processEnvironment } from '../platform/environment.ts';

/**
 * Check of the database and of Redis before anything is installed: `DATABASE_URL=… REDIS_URL=… node
 * check-dependencies.ts`. Prints one line for each fault and exits with 5 if there is one.
 */

const TIMEOUT_SECONDS = 10;
const POSTGRES_MAJOR_MIN = 15;

async function checkDatabase(url: string): Promise<string | null> {
  let sql: postgres.Sql;
  try {
    sql = postgres(url, { max: 1, connect_timeout: TIMEOUT_SECONDS, onnotice: () => undefined });
  } catch {
    return 'the database URL is not valid; write it as postgres://user:password@host:5432/database';
  }
  try {
    const [server] = await sql<Record<'version' | 'encoding', string>[] & Record<string, unknown>[]>`
      select current_setting('server_version') as version, current_setting('server_encoding') as encoding,
             pg_is_in_recovery() as is_replica, current_database() as database,
             has_database_privilege(current_database(), 'CREATE') as may_create`;
    if (server === undefined) return 'the database does not answer; check the database URL';
    const version = String(server['version']);
    if (Number.parseInt(version, 10) < POSTGRES_MAJOR_MIN) {
      return `the database server is PostgreSQL ${version}, and ${POSTGRES_MAJOR_MIN} or later is required; upgrade it, or give the URL of another one`;
    }
    const { encoding, database } = server as unknown as Record<string, string>;
    if (encoding !== 'UTF8') {
      return `the database ${database} has the encoding ${encoding}, and UTF8 is required; create one with "createdb -E UTF8 -T template0 NAME"`;
    }
    if (server['is_replica'] === true) {
      return 'the database server is a replica and cannot be written; give the URL of its primary';
    }
    if (server['may_create'] !== true) {
      return `the database user may create no tables in ${database}; run "GRANT ALL ON DATABASE ${database} TO …" there, or make the user its owner`;
    }
    return null;
  } catch (error) {
    return `the database cannot be used: ${reasonOf(error)}; check the database URL`;
  } finally {
    await sql.end({ timeout: 1 }).catch(() => undefined);
  }
}

async function checkRedis(url: string): Promise<string | null> {
  const redis = new Redis(url, {
    lazyConnect: true,
    connectTimeout: TIMEOUT_SECONDS * 1000,
    commandTimeout: TIMEOUT_SECONDS * 1000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let reason: unknown = null;
  redis.on('error', (error) => {
    reason = error;
  });
  try {
    await redis.connect();
    // CONFIG GET is forbidden on many managed servers; INFO is not.
    const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1] ?? 'noeviction';
    if (policy === 'noeviction') return null;
    return `Redis has maxmemory-policy ${policy}, which removes notifications of jobs when memory is short; set "maxmemory-policy noeviction" in redis.conf and run "redis-cli config set maxmemory-policy noeviction"`;
  } catch (error) {
    return `Redis cannot be used: ${reasonOf(reason ?? error)}; check the Redis URL`;
  } finally {
    redis.disconnect();
  }
}

/** Describe an error on one line. Neither client puts the URL or the password into its messages. */
function reasonOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return (message || code || String(error)).split('\n')[0] as string;
}

const { DATABASE_URL, REDIS_URL } = processEnvironment();
const faults = await Promise.all([
  DATABASE_URL ? checkDatabase(DATABASE_URL) : null,
  REDIS_URL ? checkRedis(REDIS_URL) : null,
]);
const lines = faults.filter((fault) => fault !== null);
if (lines.length > 0) {
  process.stderr.write(`${lines.join('\n')}\n`);
  process.exitCode = 5;
}
