import { chownSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { makeFolder, openOtherMachine, secretKeyOf } from '../backup/support.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';
import { runCommand, runService, startService } from './service.ts';

let source: TestApi;
let folder: ReturnType<typeof makeFolder>;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  source = await openTestApi();
  folder = makeFolder();
  env = { SERVICE_DATA_DIR: source.dataDir, DATABASE_URL: source.databaseUrl };
  await ingestAll(source.appliance, source.operator, 'default', [
    { id: '1', fileName: 'valve.txt', text: 'The valve is checked in autumn.' },
  ]);
});
afterAll(async () => {
  await source.close();
  folder.remove();
});

test('db backup, verify and restore copy an installation to another machine', async () => {
  const service = (...args: string[]) => runCommand(args, env);
  const to = folder.directory;
  expect((await service('db', 'backup', '--to', to, '--dry-run')).stdout).toMatch(
    /^would store \d+ rows of \d+ tables/,
  );
  const missing = await service('db', 'verify', to, '--json');
  expect(missing).toMatchObject({ code: 3 });
  expect(missing.json().error).toEqual({ code: 'backup_not_found', message: expect.stringContaining(to) });

  const made = await service('db', 'backup', '--to', to);
  expect(made).toMatchObject({ code: 0 });
  expect(made.stdout).toMatch(/^backup bak_\w+ in .*: \d+ rows of \d+ tables, \d+ files/);
  expect(made.stdout).toContain(`The secret key is not in the backup. It is in ${source.dataDir}/secret.key.`);
  const again = (await service('db', 'backup', '--to', to, '--json')).json();
  expect(again).toMatchObject({ location: to, new_files: 0, missing_files: 0 });
  const verified = await service('db', 'verify', to, '--json');
  expect(verified).toMatchObject({ code: 0 });
  expect(verified.json()).toMatchObject({
    id: again.id,
    rows: expect.any(Number),
    service_version: '0.1.0',
    signature_checked: true,
  });
  const elsewhereVerified = await runCommand(['db', 'verify', to], { SERVICE_DATA_DIR: '/nowhere/else' });
  expect(elsewhereVerified).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('the signature was not checked'),
  });
  expect((await service('db', 'verify', to, '--backup', 'bak_none')).code).toBe(3);

  const other = await openOtherMachine(secretKeyOf(source.dataDir));
  onTestFinished(() => other.remove());
  const elsewhere = { SERVICE_DATA_DIR: other.dataDir, DATABASE_URL: other.database.url };
  const restored = await runCommand(['db', 'restore', to, '--json'], elsewhere);
  expect(restored).toMatchObject({ code: 0 });
  expect(restored.json()).toMatchObject({
    id: again.id,
    index: { buckets: 1, chunks: 1, left_out: [] },
    resumed: false,
  });
  const found = await runCommand(['search', 'valve', '--json'], elsewhere);
  expect(found.json().results).toHaveLength(1);
  expect(await runCommand(['db', 'restore', to], elsewhere)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('--force'),
  });
  // Nobody can be asked for a confirmation.
  expect(await runCommand(['db', 'restore', to, '--force'], elsewhere)).toMatchObject({ code: 2 });
  expect(await runCommand(['db', 'restore', to, '--force', '--yes'], elsewhere)).toMatchObject({ code: 0 });
});

test('a wrong place of backups is refused with what to write', async () => {
  const run = async (...args: string[]) => {
    const finished = await runCommand(args, env);
    return [finished.code, finished.stderr] as const;
  };
  expect(await run('db', 'backup')).toEqual([2, expect.stringContaining('--to')]);
  expect(await run('db', 'backup', '--to', 'ftp://host/x')).toEqual([2, expect.stringContaining('s3://bucket/prefix')]);
  expect(await run('db', 'backup', '--to', 's3://b')).toEqual([2, expect.stringContaining('bucket')]);
  expect(await run('db', 'verify', 's3://backups/')).toEqual([2, expect.stringContaining('AWS_ACCESS_KEY_ID')]);
  expect(await run('db', 'backup', '--to', source.dataDir)).toEqual([2, expect.stringContaining('outside of it')]);
  expect(await run('db', 'verify')).toEqual([2, expect.stringContaining('FROM')]);
});

test('doctor tells the age of the backups, the ballast file, and a backup that was missed', async () => {
  const place = makeFolder();
  onTestFinished(place.remove);
  const file = path.join(place.directory, 'settings.yaml');
  writeFileSync(file, `backup: {to: ${place.directory}/backups, every: 1h}\n`);
  const settings = { ...env, SERVICE_CONFIG: file };
  const check = async (name: string) => {
    const { checks } = (await runCommand(['doctor', '--json'], settings)).json();
    return checks.find((each: { name: string }) => each.name === name);
  };
  expect(await check('backup')).toMatchObject({ status: 'down', detail: expect.stringContaining('service db backup') });
  expect(await runCommand(['db', 'backup'], settings)).toMatchObject({ code: 0 });
  expect(await check('backup')).toMatchObject({
    status: 'ok',
    detail: expect.stringMatching(/^bak_\w+ in .* is 0 min old$/),
  });
  expect(await check('ballast')).toMatchObject({ status: 'ok' });
  expect(await check('canaries')).toMatchObject({ status: 'not configured' });
  await source.appliance.sql`UPDATE backups SET started_at = now() - interval '3 hours'`;
  expect(await check('backup')).toMatchObject({ status: 'down', detail: expect.stringContaining('3 h old') });
  await source.appliance.sql`INSERT INTO restores (backup_id) VALUES ('bak_x')`;
  expect(await check('restore')).toMatchObject({ status: 'down', detail: expect.stringContaining('db restore') });
  await source.appliance.sql`DELETE FROM restores`;
});

test('ballast release says that there is no file', async () => {
  const released = await runCommand(['ballast', 'release', '--json'], env);
  expect(released).toMatchObject({ code: 0 });
  expect(released.json()).toEqual({ freed_bytes: null });
});

test('a second server on the data directory names the first one, and one on its port is refused', async () => {
  const args = ['serve', '--no-workers', '--json', '--port'];
  const first = startService([...args, '0'], env);
  const second = startService([...args, '0'], env);
  onTestFinished(async () => {
    for (const { child, finished } of [first, second]) {
      child.kill('SIGTERM');
      await finished;
    }
  });
  const isReady = async () => first.output().stdout.endsWith('\n') && second.output().stdout.endsWith('\n');
  await until(isReady, { what: 'both servers', withinMs: 60_000 });
  const { url } = JSON.parse(first.output().stdout);
  const { port } = new URL(url);
  const third = await runService([...args, port], env);
  expect(third.code).toBe(4);
  expect(third.json().error.message).toContain(
    `in use by the server of this data directory (process ${first.child.pid}`,
  );
  expect(third.stderr).toContain('another server runs on the data directory');

  const elsewhere = await openOtherMachine(null);
  onTestFinished(() => elsewhere.remove());
  const foreign = { SERVICE_DATA_DIR: elsewhere.dataDir, DATABASE_URL: elsewhere.database.url };
  const fourth = await runService([...args, port], foreign);
  expect(fourth.code).toBe(4);
  expect(fourth.json().error.message).toContain('another installation of the service');
});

test.runIf(process.getuid?.() === 0)('a server of root on the data directory of another user is refused', async () => {
  const elsewhere = await openOtherMachine(null);
  onTestFinished(() => elsewhere.remove());
  chownSync(elsewhere.dataDir, 65_534, 65_534);
  const foreign = { SERVICE_DATA_DIR: elsewhere.dataDir, DATABASE_URL: elsewhere.database.url };
  expect(await runService(['serve', '--port', '0'], foreign)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('belongs to user id 65534'),
  });
});

test('a data directory without the secret key of its database is refused, and none is made', async () => {
  const elsewhere = await openOtherMachine(null);
  onTestFinished(() => elsewhere.remove());
  const moved = await runCommand(['buckets', 'list', '--json'], { ...env, SERVICE_DATA_DIR: elsewhere.dataDir });
  expect(moved.json().error).toEqual({
    code: 'secret_key_missing',
    message: expect.stringContaining(path.join(elsewhere.dataDir, 'secret.key')),
  });
});
