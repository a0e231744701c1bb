import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDataDir } from '../support/appliance.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { CAN_MAKE_TERMINAL, type Finished, runCommand, runOnTerminal, runService } from './service.ts';

// Commands that read and write records: organizations, users, keys, tokens, buckets, jobs, settings.
let database: TestDatabase;
let dataDir: ReturnType<typeof makeDataDir>;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = makeDataDir();
  env = { DATABASE_URL: database.url, SERVICE_DATA_DIR: dataDir.dataDir };
});

afterAll(async () => {
  await database.drop();
  dataDir.remove();
});

const service = (...args: string[]): Promise<Finished> => runCommand(args, env);
const json = async (...args: string[]) => {
  const finished = await service(...args, '--json');
  expect(finished).toMatchObject({ code: 0 });
  return finished.json();
};

async function audited(action: string): Promise<{ actor: string; target: string }[]> {
  return database.sql`select actor, target from audit_log where action = ${action} order by id`;
}

test('organizations are created and listed, and their plan is changed', async () => {
  const acme = await json('orgs', 'create', 'acme', '--plan', 'business');
  expect(acme).toEqual({ id: expect.stringMatching(/^org_/), name: 'acme', plan: 'business' });
  expect(await json('orgs', 'set-plan', 'acme', 'free')).toEqual({ ...acme, plan: 'free' });
  const list = await json('orgs', 'list');
  expect(list).toMatchObject({ object: 'list', has_more: false, next_cursor: null });
  expect(list.data.map((org: { name: string }) => org.name).sort()).toEqual(['acme', 'default']);

  const again = await service('orgs', 'create', 'acme', '--plan', 'free', '--json');
  expect(again).toMatchObject({ code: 4 });
  expect(again.json().error.code).toBe('organization_exists');
  expect(await audited('organization.create')).toContainEqual({
    actor: expect.stringMatching(/^operator:./),
    target: acme.id,
  });
});

test('a person is invited by a link, and the password is reset by another', async () => {
  const url = 'https://service.example.com';
  await json('orgs', 'create', 'inviting', '--plan', 'free');
  const org = ['--org', 'inviting'];
  await json('users', 'create', 'ivy@example.com', ...org);
  const invited = await json('users', 'invite', 'ivy@example.com', ...org, '--url', url);
  expect(invited).toEqual({
    url: expect.stringMatching(/^https:\/\/service\.example\.com\/console#invitation=[\w-]{43}$/),
    expires_at: expect.any(String),
  });
  expect(await audited('user.invite')).toHaveLength(1);
  const printed = await service('users', 'invite', 'ivy@example.com', ...org, '--url', url);
  expect(printed).toMatchObject({ code: 0, stdout: expect.stringMatching(/^https:\S+\n$/) });
  expect(printed.stderr).toContain('send it to ivy@example.com only');
  const early = await service('users', 'reset-password', 'ivy@example.com', ...org, '--url', url);
  expect(early).toMatchObject({ code: 4, stdout: '' });
  expect(early.stderr).toContain('this user has no password yet; invite the user instead');
  expect(await service('users', 'invite', 'nobody@example.com', ...org, '--url', url)).toMatchObject({ code: 3 });
  expect(await service('users', 'invite', 'ivy@example.com', ...org, '--url', 'ftp://x')).toMatchObject({ code: 2 });
  const offline = await service('users', 'invite', 'ivy@example.com', ...org);
  expect(offline.code).not.toBe(0);
  expect(offline.stderr).toContain('--url');
});

test('users and organizations are suspended and resumed', async () => {
  await json('orgs', 'create', 'paused', '--plan', 'free');
  await json('users', 'create', 'eve@example.com', '--org', 'paused');
  const suspended = await json('users', 'suspend', 'eve@example.com', '--org', 'paused', '--yes');
  expect(suspended.suspended_at).toEqual(expect.any(String));
  const resumed = await json('users', 'resume', suspended.id, '--org', 'paused');
  expect(resumed).toEqual({ ...suspended, suspended_at: null });
  expect((await json('orgs', 'suspend', 'paused', '--yes')).suspended_at).toEqual(expect.any(String));
  expect((await json('orgs', 'resume', 'paused')).suspended_at).toBe(null);
  expect(await service('users', 'suspend', 'nobody@example.com', '--yes')).toMatchObject({ code: 3, stdout: '' });
  expect(await service('orgs', 'suspend', 'nothing', '--yes')).toMatchObject({ code: 3, stdout: '' });
  expect(await service('orgs', 'suspend', 'paused')).toMatchObject({ code: 2, stdout: '' });
});

test('users are created and listed, and their role is changed', async () => {
  const user = await json('users', 'create', 'Ana@Example.com', '--role', 'admin', '--department', 'sales');
  expect(user).toMatchObject({ email: 'ana@example.com', role: 'admin', auth_level: 7, department: 'sales' });
  expect(await json('users', 'set-role', 'ana@example.com', 'member', '--auth-level', '4')).toMatchObject({
    id: user.id,
    role: 'member',
    auth_level: 4,
  });
  expect((await json('users', 'list')).data).toEqual([expect.objectContaining({ id: user.id })]);
  expect(await service('users', 'set-role', 'nobody@example.com', 'admin')).toMatchObject({ code: 3, stdout: '' });
  expect(await service('users', 'create', 'no email')).toMatchObject({ code: 2, stdout: '' });
});

test('an API key is shown only when it is created', async () => {
  const created = await json(
    'keys',
    'create',
    '--name',
    'web',
    '--scope',
    'search',
    '--scope',
    'embed',
    '--expires',
    '90d',
  );
  expect(created).toEqual({
    id: expect.any(String),
    key: expect.stringMatching(/^svc_/),
    limits: null,
    name: 'web',
    org_id: expect.stringMatching(/^org_/),
    scopes: ['embed', 'search'],
    auth_level: 5,
    expires_at: expect.stringMatching(/Z$/),
  });
  const days = (Date.parse(created.expires_at) - Date.now()) / 86_400_000;
  expect(days).toBeGreaterThan(89.9);
  expect(days).toBeLessThanOrEqual(90);

  const people = await service('keys', 'create', '--name', 'cron');
  expect(people.stdout).toMatch(/^svc_\w+\n$/);
  const list = await service('keys', 'list', '--json');
  expect(list.json().data.map((key: { name: string }) => key.name)).toEqual(expect.arrayContaining(['web', 'cron']));
  expect(list.stdout).not.toContain(created.key.slice(13));
  expect((await service('keys', 'list')).stdout).not.toContain(created.key.slice(13));
});

test('limits of an API key are set, changed and removed', async () => {
  await json('buckets', 'create', 'products');
  const limits = ['--quota', 'embed=1000', '--rate', 'search=60', '--allow-bucket', 'products'];
  const made = await json('keys', 'create', '--name', 'shop', '--scope', 'search', ...limits);
  const buckets = [expect.not.stringContaining('products')];
  expect(made.limits).toEqual({ quotas: { embed: 1000 }, requests_per_minute: { search: 60 }, buckets });
  const edited = await json('keys', 'edit', 'shop', '--rate', 'search=30', '--expires', '1d');
  expect(edited.limits).toEqual({ ...made.limits, requests_per_minute: { search: 30 } });
  const rest = await service('keys', 'edit', made.id, '--no-limits', '--allow-model', 'local/lexical-1');
  expect(rest.stdout).toBe(`${made.id} (shop): search; local/lexical-1\n`);
  expect((await service('keys', 'edit', made.id, '--no-limits')).stdout).toContain('; no limits of its own\n');
  expect(await json('keys', 'edit', 'shop', '--expires', 'never')).toMatchObject({ limits: null, expires_at: null });
  for (const [flags, reason] of [
    [[], 'give at least one flag that names a change'],
    [['--quota', 'embed=many'], '--quota: embed needs a whole number, not "many"'],
    [['--quota', 'embed'], '--quota: must be key=value'],
    [['--allow-bucket', 'missing'], 'missing'],
    [['--allow-model', 'missing'], 'missing'],
    [['--scope', 'keys:manage', '--quota', 'embed=1'], 'a key with limits can have'],
  ] as const)
    expect((await service('keys', 'edit', 'shop', ...flags)).stderr, flags.join(' ')).toContain(reason);
});

test('API keys are rotated and revoked', async () => {
  const first = await json('keys', 'create', '--name', 'old');
  const second = await json('keys', 'rotate', first.id, '--grace', '1h', '--yes');
  expect(second).toMatchObject({ name: 'old', key: expect.not.stringContaining(first.key) });

  const refused = await service('keys', 'revoke', second.id, '--json');
  expect(refused).toMatchObject({ code: 2 });
  expect(refused.json().error.code).toBe('confirmation_missing');
  expect(await json('keys', 'revoke', second.id, '--yes')).toEqual({ revoked: true });
  // No variable confirms, because it would confirm every command from then on.
  expect(await runCommand(['keys', 'revoke', second.id], { ...env, SERVICE_YES: 'true' })).toMatchObject({ code: 2 });
  expect(await service('keys', 'revoke', 'no-such-key')).toMatchObject({ code: 3 });
  const named = await json('keys', 'create', '--name', 'by its name');
  expect((await service('keys', 'revoke', 'by its name', '--yes')).stdout).toBe(
    `revoked key ${named.id} (by its name)\n`,
  );
  const twins = [await json('keys', 'create', '--name', 'twin'), await json('keys', 'create', '--name', 'twin')];
  const ambiguous = await service('keys', 'rotate', 'twin', '--yes');
  expect(ambiguous.code).toBe(4);
  for (const { id } of twins) expect(ambiguous.stderr).toContain(id);
  expect((await service('documents', 'list')).stderr).toContain('no documents; upload some: ');
  expect((await service('jobs', 'list', '--top-k', '1')).code).toBe(0);
  expect((await service('users', 'set-role', 'a@example.com')).stderr).toContain('member, admin, owner');
  expect((await audited('key.revoke')).map((row) => row.target)).toEqual([second.id, named.id]);
});

test('a token is created for a user, who is added if there is none', async () => {
  const token = await json('tokens', 'create', '--user', 'ben@example.com', '--role', 'owner', '--ttl', '2h');
  expect(token).toEqual({
    token: expect.stringMatching(/^\S+\.\S+\.\S+$/),
    id: expect.stringMatching(/^tok_/),
    expires_at: expect.any(String),
  });
  expect(await json('tokens', 'revoke', token.id, '--yes')).toEqual({ revoked: true });
  expect(await json('tokens', 'revoke', '--user', 'ben@example.com', '--yes')).toEqual({ revoked: true });
  for (const args of [[], [token.id, '--user', 'ben@example.com']]) {
    expect(await service('tokens', 'revoke', '--yes', ...args)).toMatchObject({ code: 2, stdout: '' });
  }
  expect(await service('tokens', 'revoke', 'tok_x', '--yes')).toMatchObject({ code: 3 });
  expect(await audited('token.revoke')).toMatchObject([{ target: token.id }]);
  expect((await json('users', 'list')).data).toContainEqual(
    expect.objectContaining({ email: 'ben@example.com', role: 'owner' }),
  );
  expect(await service('tokens', 'create', '--user', 'ben@example.com', '--role', 'member')).toMatchObject({ code: 4 });
  expect(await service('tokens', 'create', '--user', 'ben@example.com', '--ttl', 'soon')).toMatchObject({ code: 2 });
});

test('buckets are created, listed and deleted with their contents', async () => {
  const bucket = await json('buckets', 'create', 'manuals');
  expect(bucket).toMatchObject({ id: expect.stringMatching(/^bkt_/), name: 'manuals' });
  expect(await service('buckets', 'create', 'manuals')).toMatchObject({ code: 4 });
  expect(await service('buckets', 'create', '-- ../x')).toMatchObject({ code: 2 });
  expect((await json('buckets', 'list')).data).toContainEqual(
    expect.objectContaining({ id: bucket.id, document_count: 0 }),
  );
  expect(await service('buckets', 'delete', 'manuals')).toMatchObject({ code: 2 });
  expect(await json('buckets', 'delete', bucket.id, '--yes')).toEqual({ id: bucket.id, deleted: true });
  expect(await service('buckets', 'delete', 'manuals', '--yes')).toMatchObject({ code: 3 });
});

test('commands for records that do not exist exit with 3', async () => {
  for (const args of [
    ['jobs', 'show', 'job_0'],
    ['documents', 'show', 'doc_0'],
    ['documents', 'list', '--bucket', 'nowhere'],
    ['jobs', 'list', '--bucket', 'nowhere'],
    ['search', 'x', '--bucket', 'nowhere'],
    ['documents', 'upload', '/no/such/file'],
    ['users', 'list', '--org', 'nobody'],
    ['embed', '--input-file', '/no/such/file'],
  ]) {
    const finished = await service(...args, '--json');
    expect([args, finished.code]).toEqual([args, 3]);
    expect(finished.json()).toEqual({
      error: { code: expect.stringMatching(/_not_found$/), message: expect.any(String) },
    });
  }
});

test('embed --json prints the response of the endpoint', async () => {
  const answer = await json('embed', 'one text', '두 번째 글', '--dimensions', '8');
  expect(answer).toMatchObject({
    object: 'list',
    model: 'local/lexical-1',
    usage: { prompt_tokens: expect.any(Number) },
  });
  expect(
    answer.data.map((item: { index: number; embedding: number[] }) => [item.index, item.embedding.length]),
  ).toEqual([
    [0, 8],
    [1, 8],
  ]);
  const piped = await runService(
    ['embed', '--input-file', '-', '--json', '--dimensions', '8'],
    env,
    'one text\r\n두 번째 글\n',
  );
  expect(piped.json()).toEqual(answer);
  expect(await service('embed', 'x', '--model', 'no/such-model')).toMatchObject({ code: 2, stdout: '' });
  expect(await service('embed', 'x', '--model', 'vendor-c/model-4')).toMatchObject({ code: 5, stdout: '' });
});

test('environment variables set flags, and flags override them', async () => {
  const fromEnvironment = await runCommand(['embed', 'x'], { ...env, SERVICE_JSON: 'yes', SERVICE_DIMENSIONS: '4' });
  expect(fromEnvironment.json().data[0].embedding).toHaveLength(4);
  const scopes = await runCommand(['keys', 'create', '--json'], {
    ...env,
    SERVICE_NAME: 'env',
    SERVICE_SCOPE: 'embed, jobs:write',
  });
  expect(scopes.json()).toMatchObject({ name: 'env', scopes: ['embed', 'jobs:write'] });
  const flag = await runCommand(['users', 'list', '--org', 'default', '--json'], { ...env, SERVICE_ORG: 'nobody' });
  expect(flag).toMatchObject({ code: 0 });
});

test('lists are tables on stdout, and an empty list is a message on stderr', async () => {
  const table = await service('orgs', 'list');
  expect(table.stdout).toMatch(/^ID +NAME +PLAN +CREATED +SUSPENDED +MOVE\n/);
  const empty = await service('jobs', 'list');
  expect(empty).toMatchObject({ code: 0, stdout: '', stderr: 'no jobs\n' });
});

test('config check shows the value and the source of each setting, and no secret', async () => {
  const secrets = { SERVICE_CRON_SECRET: 'a-cron-secret-of-ours', SERVICE_PORT: '9000' };
  const { settings } = (await runCommand(['config', 'check', '--json'], { ...env, ...secrets })).json();
  expect(settings).toContainEqual({ name: 'port', value: 9000, from: 'environment' });
  expect(settings).toContainEqual({ name: 'data_dir', value: dataDir.dataDir, from: 'environment' });
  expect(settings).toContainEqual({ name: 'database_url', value: '***', from: 'environment' });
  expect(settings).toContainEqual({ name: 'host', value: '127.0.0.1', from: 'default' });
  expect(settings).toContainEqual({ name: 'base_url', value: null, from: 'default' });
  const table = await runCommand(['config', 'check'], { ...env, ...secrets });
  expect(table.stdout).not.toContain('a-cron-secret-of-ours');

  const wrong = await runCommand(['config', 'check', '--json'], {
    ...env,
    SERVICE_PORT: '99999',
    SERVICE_SECRET_KEY: 'short-secret',
  });
  expect(wrong).toMatchObject({ code: 2 });
  expect(wrong.json().error).toEqual({ code: 'config_invalid', message: expect.stringContaining('SERVICE_PORT') });
  expect(wrong.stdout + wrong.stderr).not.toContain('short-secret');
});

test('db status and db migrate find nothing to do on an up-to-date database', async () => {
  const status = await json('db', 'status');
  expect(status).toMatchObject({ server_version: expect.stringMatching(/^\d+/), pending: 0 });
  expect(status.migrations[0]).toMatchObject({ version: 1, applied_at: expect.stringMatching(/Z$/) });
  expect(await json('db', 'migrate')).toEqual({ applied: [] });
});

test('db status changes nothing, and db migrate creates the schema', async () => {
  const fresh = await createTestDatabase({ isEmpty: true });
  try {
    const freshEnv = { ...env, DATABASE_URL: fresh.url };
    const before = (await runCommand(['db', 'status', '--json'], freshEnv)).json();
    expect(before.pending).toBe(before.migrations.length);
    const [table] = await fresh.sql`select count(*)::int as n from pg_tables where schemaname = 'public'`;
    expect(table?.['n']).toBe(0);
    const migrated = (await runCommand(['db', 'migrate', '--json'], freshEnv)).json();
    expect(migrated.applied).toEqual(before.migrations.map((migration: { name: string }) => migration.name));
  } finally {
    await fresh.drop();
  }
});

test('doctor passes on a healthy installation, and reports the part of another that is down', async () => {
  const healthy = await service('doctor');
  expect(healthy.code).toBe(0);
  expect(healthy.stdout).toMatch(/^✔ database: PostgreSQL \d+/m);
  expect(healthy.stdout).toMatch(/^✔ built-in model: /m);
  expect(healthy.stdout).toMatch(/^– redis: not configured$/m);
  expect(healthy.stdout).not.toMatch(/✘/);

  const down = await runCommand(['doctor', '--json'], {
    ...env,
    DATABASE_URL: 'postgres://nobody:secret-word@127.0.0.1:1/x',
  });
  expect(down.code).toBe(5);
  expect(down.stdout + down.stderr).not.toContain('secret-word');
  const { healthy: isHealthy, checks } = down.json();
  expect(isHealthy).toBe(false);
  expect(checks.find((check: { name: string }) => check.name === 'database')).toMatchObject({ status: 'down' });
  expect(checks.find((check: { name: string }) => check.name === 'objects')).toMatchObject({ status: 'ok' });
});

test('a command without its database exits with 5 and prints one JSON document', async () => {
  const finished = await runService(['jobs', 'list', '--json'], {
    ...env,
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/x',
  });
  expect(finished).toMatchObject({ code: 5, stderr: expect.stringContaining('service doctor') });
  expect(finished.json().error.code).toBe('postgres_unavailable');
});

test.skipIf(!CAN_MAKE_TERMINAL)(
  'commands on a terminal use colours unless NO_COLOR is set, and ask before they delete',
  async () => {
    const coloured = await runOnTerminal(['orgs', 'list'], env);
    expect(coloured.stdout).toContain('\u001b[1m');
    const plain = await runOnTerminal(['orgs', 'list'], { ...env, NO_COLOR: '1' });
    expect(plain).toMatchObject({ code: 0, stdout: expect.stringContaining('default') });
    expect(plain.stdout).not.toContain('\u001b');

    await json('buckets', 'create', 'asked');
    const no = await runOnTerminal(['buckets', 'delete', 'asked'], env, 'n\n');
    expect(no).toMatchObject({ code: 4, stdout: expect.stringContaining('[y/N]') });
    const yes = await runOnTerminal(['buckets', 'delete', 'asked'], env, 'y\n');
    expect(yes).toMatchObject({ code: 0, stdout: expect.stringContaining('deleted bucket asked') });
  },
);
