import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDataDir } from '../support/appliance.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { runCommand } from './service.ts';

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

test('service demo loads documents, shows a search for each question, and demo remove takes them away', async () => {
  const first = await runCommand(['demo'], env);
  expect(first.code).toBe(0);
  expect(first.stdout).toContain("search 'can a helmet be returned' --bucket demo");
  expect(first.stdout).toContain('korean/warranty.md');
  const again = await runCommand(['demo', '--json'], env);
  expect(again.json()).toMatchObject({ bucket: 'demo', counts: { linked: 12, ready: 0, failed: 0 } });
  expect((await runCommand(['demo', 'remove', '--json'], env)).json()).toMatchObject({ deleted: true });
  expect(await runCommand(['demo', 'remove'], env)).toMatchObject({ code: 3, stdout: '' });
  expect((await runCommand(['demo', '--nothing'], env)).code).toBe(2);
});

test('commands that the demo prints have the path by which it was typed', async () => {
  const typed = await runCommand(['demo'], { ...env, SERVICE_COMMAND_PATH: 'bin/service' });
  expect(typed.stdout).toContain("bin/service search 'can a helmet be returned' --bucket demo");
  expect(typed.stderr).toContain('bin/service demo remove');
});
