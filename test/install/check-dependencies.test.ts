import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { checkDatabase, checkRedis } from '../../src/install/check-dependencies.ts';
import { type Database, postgresUrl } from '../../src/platform/postgres.ts';
import { Secret } from '../../src/platform/secret.ts';
import { freePort } from '../support/free-port.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { openPostgresProxy } from '../support/postgres-proxy.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true, poolMax: 1 });
});

afterAll(() => database.drop());

/** Listen on a free port and answer every connection with `reply`. */
async function listen(reply: string): Promise<number> {
  const server: Server = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => socket.end(reply));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

/** URL of the test database with some of its parts changed. */
function urlWith(parts: { username?: string; password?: Secret; database?: string }): string {
  return postgresUrl({ ...database.connection, ...parts });
}

/** Create something in the server that is removed after the test. */
async function createForTest(create: (sql: Database) => Promise<unknown>, drop: (sql: Database) => Promise<unknown>) {
  await create(database.sql);
  onTestFinished(async () => {
    await drop(database.sql);
  });
}

test('a database that the service can use passes the check of install.sh', async () => {
  expect(await checkDatabase(database.url)).toBeNull();
});

test('a server older than PostgreSQL 15 is refused with its version and the one that is needed', async () => {
  const [row] = await database.sql`
    SELECT current_setting('server_version') AS version, current_setting('server_version_num') AS number`;
  const { version, number } = row as unknown as Record<'version' | 'number', string>;
  const old = version.replace(/^\d\d/, '14');
  const rewrite = (data: Buffer) => {
    const text = data.toString('latin1').replaceAll(version, old);
    return Buffer.from(text.replaceAll(number, number.replace(/^\d\d/, '14')), 'latin1');
  };
  const proxy = await openPostgresProxy(database.connection, { rewrite });
  onTestFinished(() => proxy.close());
  expect(await checkDatabase(postgresUrl(proxy.connection))).toEqual({
    exitCode: 4,
    message: expect.stringMatching(
      `^PostgreSQL ${old} at \\S+ \\(--database-url\\) is too old; version 15 or newer is needed$`,
    ),
  });
});

test('a database without UTF8 is refused with the command that creates one with it', async () => {
  const name = `${database.connection.database}_latin1`;
  await createForTest(
    (sql) => sql`CREATE DATABASE ${sql(name)} ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'`,
    (sql) => sql`DROP DATABASE ${sql(name)} WITH (FORCE)`,
  );
  expect(await checkDatabase(urlWith({ database: name }))).toEqual({
    exitCode: 4,
    message: expect.stringMatching(
      /^the database \S+_latin1 has the encoding LATIN1, and UTF8 is required; create one/,
    ),
  });
});

test('a user who may create no tables is refused, and a wrong password is named without repeating it', async () => {
  const username = `${database.connection.database}_reader`;
  await createForTest(
    (sql) => sql.unsafe(`CREATE ROLE ${username} LOGIN PASSWORD 'right'`),
    (sql) => sql`DROP ROLE ${sql(username)}`,
  );
  expect(await checkDatabase(urlWith({ username, password: new Secret('right') }))).toEqual({
    exitCode: 4,
    message: expect.stringMatching(/^the database user may create no tables in \S+; run "GRANT ALL ON DATABASE/),
  });
  const wrong = await checkDatabase(urlWith({ username: `${username}_unknown`, password: new Secret('geheim') }));
  expect(wrong).toEqual({
    exitCode: 5,
    message: expect.stringMatching(/^PostgreSQL at \S+ \(--database-url\) cannot be used: it refuses/),
  });
  expect(wrong?.message).not.toContain('geheim');
});

describe('a database URL', () => {
  test.each([
    ['with a broken escape', 'postgres://u:geheim%zz@127.0.0.1/d', /URL is not valid; write it as postgres:/],
    ['with a port that does not exist', 'postgres://u:geheim@127.0.0.1:99999/d', /./],
    [
      'of a host that does not exist',
      'postgres://u:geheim@name.invalid/d',
      /^PostgreSQL at u@name\.invalid\S* \(--database-url\) cannot be used: ./,
    ],
  ])('%s is refused with one line', async (_, url, message) => {
    const fault = await checkDatabase(url);
    expect(fault).toEqual({ exitCode: 5, message: expect.stringMatching(message) });
    expect(fault?.message).not.toMatch(/geheim|\n/);
  });

  test('of a database that does not exist, of a closed port, or of another server is refused with one line', async () => {
    for (const url of [
      urlWith({ database: 'missing_database' }),
      `postgres://u:geheim@127.0.0.1:${await freePort()}/d`,
      `postgres://u:geheim@127.0.0.1:${await listen('')}/d`,
    ]) {
      const fault = await checkDatabase(url);
      expect(fault).toEqual({
        exitCode: 5,
        message: expect.stringMatching(/^PostgreSQL at \S+ \(--database-url\) cannot be used: .+$/),
      });
      expect(fault?.message).not.toContain('geheim');
    }
  });
});

describe.skipIf(!redisAvailable())('a Redis', () => {
  let redis: TestRedis;

  beforeAll(async () => {
    redis = await startRedis({ password: 'right' });
  });

  afterAll(() => redis.drop());

  test('that evicts keys is refused with the setting that it needs, and passes with it', async () => {
    const client = new Redis(redis.url);
    onTestFinished(() => client.disconnect());
    for (const policy of ['allkeys-lru', 'volatile-ttl']) {
      await client.config('SET', 'maxmemory-policy', policy);
      expect(await checkRedis(redis.url)).toEqual({
        exitCode: 4,
        message: expect.stringMatching(`^Redis has maxmemory-policy ${policy}, .* set "maxmemory-policy noeviction"`),
      });
    }
    await client.config('SET', 'maxmemory-policy', 'noeviction');
    expect(await checkRedis(redis.url)).toBeNull();
  });

  test('with another password, on a closed port, that is another server, or of no valid URL is refused', async () => {
    for (const url of [
      redis.url.replace('right', 'geheim'),
      `redis://:geheim@127.0.0.1:${await freePort()}`,
      `redis://:geheim@127.0.0.1:${await listen('HTTP/1.1 400 Bad Request\r\n\r\n')}`,
      'redis://:geheim@127.0.0.1:99999',
      'redis://:geheim@name.invalid:6379',
    ]) {
      const fault = await checkRedis(url);
      expect(fault).toEqual({
        exitCode: 5,
        message: expect.stringMatching(
          /^(Redis at \S+ \(REDIS_URL\) cannot be used: .+|the Redis URL is not valid; .+)$/,
        ),
      });
      expect(fault?.message).not.toMatch(/geheim|\n/);
    }
  });
});
