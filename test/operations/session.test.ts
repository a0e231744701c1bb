import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ApiService, apiService } from '../../server/api-service.ts';
import { digestSettings, readOperatorAccess } from '../../src/appliance/server-record.ts';
import { openSession, type SessionOptions } from '../../src/cli/session.ts';
import { findServers } from '../../src/operations/ask-server.ts';
import { VERSION } from '../../src/platform/version.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { installationOf, makeDataDir, openTestAppliance } from '../support/appliance.ts';

let api: TestApi;

beforeAll(async () => {
  api = await openTestApi({ worker: false });
});

afterAll(() => api.close());

class OpenedHere extends Error {}

/** Session of a command in the data directory of the server; it fails if it would open the installation itself. */
function session(options: Partial<SessionOptions> = {}) {
  return openSession({
    ...{ dataDir: api.dataDir, env: {}, version: VERSION, org: 'default' },
    signal: new AbortController().signal,
    openInstallation: async () => {
      throw new OpenedHere();
    },
    ...options,
  });
}

test('an operation runs in the server of the data directory, and nothing is opened here', async () => {
  const bucket = await session().call('buckets.create', { name: 'asked' });
  expect(bucket).toMatchObject({ id: expect.any(String), name: 'asked' });
  const [found] = await api.appliance.sql`select actor from audit_log where target = ${bucket.id}`;
  expect(found?.['actor']).toMatch(/^operator:./);
});

test('errors of the server have the code, the status and the name of the flag', async () => {
  await expect(session().call('buckets.show', { bucket: 'nothing' })).rejects.toMatchObject({
    code: 'bucket_not_found',
    status: 404,
  });
  const query = { bucket: 'default', query: 'x', top_k: 101 };
  await expect(session().call('search.bucket', query)).rejects.toThrow(/^--top-k: /);
  await expect(session().call('search.bucket', { ...query, query: '' }, { query: 'QUERY' })).rejects.toThrow(
    'QUERY: must not be empty',
  );
});

test('an operation gives the same in this process as from the server', async () => {
  const asked = await session().call('buckets.list', {});
  const here = await session({ dataDir: '/nowhere', openInstallation: async () => installationOf(api.appliance) }).call(
    'buckets.list',
    {},
  );
  expect(here).toEqual(asked);
  expect(asked.data.length).toBeGreaterThan(0);
});

test.each([
  ['has another version', { version: '0.0.0-other' }],
  ['has another database in its environment', { env: { DATABASE_URL: 'postgres://other' } }],
  ['has another service.yaml', { env: { SERVICE_CONFIG: path.resolve(import.meta.dirname, '../../package.json') } }],
  ['has another data directory', { dataDir: '/nowhere' }],
])('a command that %s than the server opens the installation itself', async (_, options) => {
  await expect(session(options).call('buckets.list', {})).rejects.toThrow(OpenedHere);
});

test('settings that do not change a result do not keep a command from the server', async () => {
  const env = { SERVICE_DATA_DIR: api.dataDir, SERVICE_PORT: '1', SERVICE_LOG_LEVEL: 'debug' };
  expect(await session({ dataDir: null, env }).call('buckets.list', {})).toMatchObject({ object: 'list' });
});

test('a service.yaml that names another data directory is followed', async () => {
  const file = path.join(api.dataDir, '..', `service-test-${process.pid}.yaml`);
  writeFileSync(file, `data_dir: ${api.dataDir}\n`);
  // The server has no such file, so the command opens the installation that the file names.
  await expect(session({ dataDir: null, env: { SERVICE_CONFIG: file } }).call('buckets.list', {})).rejects.toThrow(
    OpenedHere,
  );
});

test('only the owner of the data directory can read the record, and use the socket', () => {
  const [access] = readOperatorAccess(api.dataDir);
  const folder = path.join(api.dataDir, 'servers');
  const modes = [folder, ...readdirSync(folder).map((name) => path.join(folder, name)), access?.socket as string];
  expect(modes.map((file) => statSync(file).mode & 0o077)).toEqual(modes.map(() => 0));
});

test('a client without the secret gets no reply', async () => {
  const [access] = readOperatorAccess(api.dataDir);
  const request = { version: VERSION, operation: 'buckets.list', input: {}, org: 'default', osUser: 'mallory' };
  for (const secret of ['', 'x'.repeat(43), access?.secret.slice(0, -1).concat('_')]) {
    const socket = connect(access?.socket as string);
    socket.on('error', () => undefined).write(`${secret} ${JSON.stringify(request)}\n`);
    expect(await text(socket).catch(() => '')).toBe('');
  }
});

test('an operation that a server does not know, and a record of a killed server, lead to opening the installation', async () => {
  const unknown = 'buckets.frobnicate' as 'buckets.list';
  await expect(session().call(unknown, {})).rejects.toMatchObject({ code: 'operation_unknown' });
  const dead = await openTestAppliance();
  try {
    const folder = path.join(api.dataDir, 'servers');
    const name = readdirSync(folder).find((each) => each.endsWith('.json')) as string;
    const record = JSON.parse(readFileSync(path.join(folder, name), 'utf8'));
    record.operator.socket = path.join(dead.dataDir, 'gone.sock');
    const own = path.join(dead.dataDir, 'servers');
    mkdirSync(own);
    writeFileSync(path.join(own, '1.json'), JSON.stringify(record));
    writeFileSync(path.join(own, '2.json'), '{"operator":{"socket":1}}');
    writeFileSync(path.join(own, '3.json'), 'no JSON');
    expect(findServers(dead.dataDir, {}, VERSION)).toHaveLength(1);
    await expect(session({ dataDir: dead.dataDir }).call('buckets.list', {})).rejects.toThrow(OpenedHere);
  } finally {
    await dead.close();
  }
});

test('a server that is killed during an operation leaves the command with an error, and nothing is tried again', async () => {
  const { dataDir, remove } = makeDataDir();
  let requests = 0;
  const killed = createServer((socket) =>
    socket.once('data', () => {
      requests++;
      socket.destroy();
    }),
  );
  const file = path.join(dataDir, 'killed.sock');
  await new Promise<void>((resolve) => killed.listen(file, resolve));
  const [access] = readOperatorAccess(api.dataDir);
  mkdirSync(path.join(dataDir, 'servers'));
  const operator = { ...access, socket: file, settings: digestSettings(access?.secret as string, {}, dataDir) };
  writeFileSync(path.join(dataDir, 'servers', '1.json'), JSON.stringify({ operator }));
  try {
    const call = session({ dataDir }).call('buckets.create', { name: 'perhaps' });
    await expect(call).rejects.toMatchObject({ code: 'server_stopped', status: 503 });
    expect(requests).toBe(1);
  } finally {
    killed.close();
    remove();
  }
});

test('an operation ends in the server when its command is interrupted', async () => {
  const abort = new AbortController();
  const { sql } = api.appliance;
  await sql.begin(async (tx) => {
    // The operation waits for this lock until it is aborted.
    await tx`LOCK TABLE buckets IN ACCESS EXCLUSIVE MODE`;
    const call = session({ signal: abort.signal }).call('buckets.list', {});
    const ended = expect(call).rejects.toThrow('enough');
    setImmediate(() => abort.abort(new Error('enough')));
    await ended;
  });
  expect(await session().call('buckets.list', {})).toMatchObject({ object: 'list' });
});

test('a server that stops removes its record and its socket', async () => {
  const beside = await openTestAppliance({}, { beside: api });
  const other: ApiService = apiService(beside.appliance, { port: 0 });
  const before = readOperatorAccess(api.dataDir).map(({ socket }) => socket);
  await other.start(new AbortController().signal);
  const [access] = readOperatorAccess(api.dataDir).filter(({ socket }) => !before.includes(socket));
  expect(existsSync(access?.socket as string)).toBe(true);
  await other.stop();
  await beside.close();
  expect(existsSync(access?.socket as string)).toBe(false);
  expect(readOperatorAccess(api.dataDir).map(({ socket }) => socket)).not.toContain(access?.socket);
});
