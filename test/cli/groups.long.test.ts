import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDataDir } from '../support/appliance.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { type Finished, runCommand } from './service.ts';

// Commands of groups, and of the access of documents.
let database: TestDatabase;
let dataDir: ReturnType<typeof makeDataDir>;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  database = await createTestDatabase();
  dataDir = makeDataDir();
  env = { DATABASE_URL: database.url, SERVICE_DATA_DIR: dataDir.dataDir };
  for (const name of ['ana', 'ben']) await json('users', 'create', `${name}@example.com`);
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

test('groups are made, changed, shown and deleted', async () => {
  const made = await json('groups', 'create', 'legal', '--member', 'ana@example.com', '--claim', 'legal-team');
  expect(made).toMatchObject({ name: 'legal', claim: 'legal-team', member_count: 1 });
  await json('groups', 'create', 'company', '--member', 'group:legal');
  const edited = await service('groups', 'edit', 'Legal', '--add', 'ben@example.com', '--remove', 'ana@example.com');
  expect(edited.stdout).toContain('group legal has 1 member now');
  expect((await service('groups', 'show', 'legal')).stdout).toMatch(/ben@example\.com +administrator/);
  expect((await json('groups', 'list')).data.map(({ name }: { name: string }) => name)).toEqual(['company', 'legal']);
  expect(await service('groups', 'edit', 'legal', '--add', 'group:company')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('"company" contains "legal", so it cannot be a member of "legal"'),
  });
  expect(await service('groups', 'create', 'x', '--member', 'nobody@example.com')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--member: the organization has no user "nobody@example.com"'),
  });
  expect((await service('groups', 'show', 'nothing')).code).toBe(3);
  expect((await service('groups', 'delete', 'company')).code).not.toBe(0);
  expect((await service('groups', 'delete', 'company', '--yes')).stdout).toContain('deleted group company');
});

test('a document gets its readers at upload or from its bucket, and says why somebody may not read it', async () => {
  const file = path.join(dataDir.dataDir, 'contract.txt');
  writeFileSync(file, 'The harbour contract.');
  await json('documents', 'upload', file, '--group', 'legal', '--no-wait');
  const access = (name: string) => service('documents', 'access', 'contract.txt', '--as', `${name}@example.com`);
  expect((await access('ben')).stdout).toBe('ben@example.com may read contract.txt\n');
  expect((await access('ana')).stdout).toBe(
    'ana@example.com may not read contract.txt\n' +
      '- the access of the document names neither the reader nor a group of the reader\n',
  );
  const statement = "UPDATE documents SET access_users = 'ana@example.com' WHERE access_groups = 'legal'";
  await json('metadata', 'exec', statement, '--yes');
  expect((await access('ana')).stdout).toContain('may read');
  const set = await json('buckets', 'set-policy', 'default', '--default-group', 'legal', '--yes');
  expect(set.policy.default_access).toEqual({ users: [], groups: ['legal'] });
  writeFileSync(file, 'Another harbour.');
  await json('documents', 'upload', file, '--on-duplicate', 'allow', '--no-wait');
  const { data } = await json('documents', 'list');
  expect(data[0].access).toEqual({ users: [], groups: ['legal'] });
  expect((await json('buckets', 'set-policy', 'default', '--any-reader', '--yes')).policy.default_access).toBe(
    undefined,
  );
});
