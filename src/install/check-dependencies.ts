import { processEnvironment } from '../platform/environment.ts';
import { AppError } from '../platform/errors.ts';
import { openLogger } from '../platform/logger.ts';
import { type DatabaseFacts, readDatabaseFacts } from '../platform/postgres/check-server.ts';
import { checkServer, type Database, mapPostgresError, openPostgres } from '../platform/postgres.ts';
import { openRedis } from '../platform/redis.ts';
import { Secret } from '../platform/secret.ts';

/**
 * Check of the database and of Redis before anything is installed: `DATABASE_URL=… REDIS_URL=… node
 * check-dependencies.ts`. Prints one line per fault, prefixed by the exit code of `install.sh`, and exits with the last
 * fault's code.
 */

/** Reason why a server can't be used: it is down or unknown (5), or needs a change first (4). */
export interface Fault {
  readonly exitCode: 4 | 5;
  /** One line that states the remedy. It contains neither the URL nor a password. */
  readonly message: string;
}

/** Check that the service can use a database. @returns null if it can */
export async function checkDatabase(url: string): Promise<Fault | null> {
  let sql: Database | null = null;
  try {
    sql = openPostgres({ url }, { poolMax: 1, applicationName: 'service-install' });
    await checkServer(sql, new Secret(url), '--database-url');
    return findFault(await readDatabaseFacts(sql));
  } catch (error) {
    const mapped = mapPostgresError(error);
    if (mapped instanceof AppError) {
      return mapped.code === 'postgres_too_old' ? refused(mapped.message) : down(mapped.message);
    }
    return down('the database URL is not valid; write it as postgres://user:password@host:5432/database');
  } finally {
    await sql?.end({ timeout: 1 }).catch(() => undefined);
  }
}

function findFault({ encoding, database, isReplica, mayCreate }: DatabaseFacts): Fault | null {
  if (encoding !== 'UTF8') {
    return refused(
      `the database ${database} has the encoding ${encoding}, and UTF8 is required; create one with "createdb -E UTF8 -T template0 NAME"`,
    );
  }
  if (isReplica) {
    return refused('the database server is a replica and cannot be written; give the URL of its primary');
  }
  if (!mayCreate) {
    return refused(
      `the database user may create no tables in ${database}; run "GRANT ALL ON DATABASE ${database} TO …" there, or make the user its owner`,
    );
  }
  return null;
}

/** Check that the service can use a Redis server. @returns null if it can */
export async function checkRedis(url: string): Promise<Fault | null> {
  if (!URL.canParse(url)) return down('the Redis URL is not valid; write it as redis://user:password@host:6379');
  const redis = openRedis({ url: new Secret(url) }, openLogger('fatal'));
  try {
    await redis.ping();
    // Many managed servers forbid CONFIG GET, but not INFO.
    const policy = /^maxmemory_policy:(\S+)/m.exec(await redis.client.info('memory'))?.[1] ?? 'noeviction';
    if (policy === 'noeviction') return null;
    return refused(
      `Redis has maxmemory-policy ${policy}, which removes notifications of jobs when memory is short; set "maxmemory-policy noeviction" in redis.conf and run "redis-cli config set maxmemory-policy noeviction"`,
    );
  } catch (error) {
    return down(error instanceof AppError ? error.message : 'Redis does not answer; check the Redis URL');
  } finally {
    await redis.close();
  }
}

function down(message: string): Fault {
  return { exitCode: 5, message };
}

function refused(message: string): Fault {
  return { exitCode: 4, message };
}

if (import.meta.main) {
  const { DATABASE_URL, REDIS_URL } = processEnvironment();
  const faults = await Promise.all([
    DATABASE_URL ? checkDatabase(DATABASE_URL) : null,
    REDIS_URL ? checkRedis(REDIS_URL) : null,
  ]);
  for (const fault of faults) {
    if (fault === null) continue;
    process.stderr.write(`${fault.exitCode} ${fault.message}\n`);
    process.exitCode = fault.exitCode;
  }
}
