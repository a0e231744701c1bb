import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { runCommand } from './service.ts';

// Commands with a DATABASE_URL that cannot work, against the PostgreSQL of the tests.
vi.setConfig({ testTimeout: 90_000 });
let installation: TestApi;
beforeAll(async () => {
  installation = await openTestApi({ worker: false });
});
afterAll(() => installation.close());

/** Change the URL of the test's database. */
function changed(change: (url: URL) => void): string {
  const url = new URL(installation.databaseUrl);
  change(url);
  return url.href;
}

async function runWith(databaseUrl: string) {
  const env = { DATABASE_URL: databaseUrl, SERVICE_DATA_DIR: installation.dataDir };
  return runCommand(['buckets', 'list', '--json'], env);
}

it.each([
  [
    'nothing that listens',
    () => 'postgres://me:pw@127.0.0.1:1/mine',
    /^PostgreSQL at me@127\.0\.0\.1:1\/mine \(DATABASE_URL\) cannot be used: nothing listens there/,
  ],
  [
    'an unknown host',
    () => 'postgres://nowhere.invalid/mine',
    /^PostgreSQL at nowhere\.invalid\/mine \(DATABASE_URL\) cannot be used: this host name/,
  ],
  [
    'a missing socket',
    () => 'postgres:///mine?host=/nowhere&user=me',
    /^PostgreSQL at me@\/nowhere:5432\/mine \(DATABASE_URL\) cannot be used: there is no such socket/,
  ],
  [
    'a wrong password',
    () =>
      changed((url) => {
        url.password = 'wrong';
      }),
    /\(DATABASE_URL\) cannot be used: it refuses this user and password/,
  ],
  [
    'an unknown database',
    () =>
      changed((url) => {
        url.pathname = '/nowhere';
      }),
    /\/nowhere \(DATABASE_URL\) cannot be used: it has no such database/,
  ],
])('a database URL with %s is refused with setting, address and reason', async (_, url, message) => {
  const { code, stdout } = await runWith(url());
  const { error } = JSON.parse(stdout);
  expect(error.message).toMatch(message);
  expect(error.message).not.toContain('pw@');
  expect(code).toBe(5);
});

it.each(['mysql://me@127.0.0.1/mine', 'foo', '127.0.0.1:5432'])(
  'the database URL %s is refused as no URL of PostgreSQL',
  async (url) => {
    const { code, stdout } = await runWith(url);
    expect(JSON.parse(stdout).error.message).toContain(
      'database_url (DATABASE_URL): must be the URL of a PostgreSQL database: postgres://user:password@host:5432/database',
    );
    expect(code).toBe(2);
  },
);

it('a PostgreSQL before version 15 is refused with its version and what is needed', async () => {
  const { sql } = installation.appliance;
  // The server's own function is shadowed, since no old server can be installed beside the other one.
  await sql`CREATE SCHEMA old_server`;
  await sql.unsafe(`
    CREATE FUNCTION old_server.current_setting(name text) RETURNS text LANGUAGE sql AS
    $$ SELECT CASE name WHEN 'server_version' THEN '14.9' WHEN 'server_version_num' THEN '140009' ELSE pg_catalog.current_setting(name) END $$`);
  const { code, stdout } = await runWith(
    changed((url) => url.searchParams.set('search_path', 'old_server,pg_catalog,public')),
  );
  expect(JSON.parse(stdout).error).toMatchObject({
    code: 'postgres_too_old',
    message: expect.stringMatching(
      /^PostgreSQL 14\.9 at .* \(DATABASE_URL\) is too old; version 15 or newer is needed$/,
    ),
  });
  expect(code).toBe(5);
});

it.each([
  ['at once', (socket: Socket) => socket.destroy()],
  ['after the first bytes', (socket: Socket) => socket.once('data', () => socket.end())],
])('a server that closes connections %s, without a byte, is refused and not asked without end', async (_, close) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined);
    close(socket);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { code, stdout } = await runWith(`postgres://me:pw@127.0.0.1:${(server.address() as AddressInfo).port}/mine`);
    // The system may report a reset instead of the end.
    expect(JSON.parse(stdout).error.message).toMatch(
      /^PostgreSQL at me@127\.0\.0\.1:\d+\/mine \(DATABASE_URL\) cannot be used: it closes (?:connections|the connection)/,
    );
    expect(code).toBe(5);
    expect(connections).toBeLessThan(20);
  } finally {
    server.close();
  }
});

it('several hosts that close connections without a byte are given up after a bounded time', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const { code, stdout } = await runWith(`postgres://me:pw@127.0.0.1:${port},127.0.0.1:${port}/mine`);
    expect(JSON.parse(stdout).error.message).toContain('(DATABASE_URL) cannot be used: it ');
    expect(code).toBe(5);
  } finally {
    server.close();
  }
});
