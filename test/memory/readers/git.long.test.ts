import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { removeDeletedCopies } from '../../../src/memory/remove-copies.ts';
import { deleteSource } from '../../../src/memory/sources.ts';
import { openTestAppliance, type TestAppliance } from '../../support/appliance.ts';
import {
  GIT_TOKEN,
  type GitRepository,
  sshAvailable,
  startGitOverHttp,
  startGitOverSsh,
} from '../../support/git-server.ts';
import { addSource, sync, syncWorker } from '../../support/memory.ts';
import { checkReader } from './conformance.ts';
import { openGitPlace } from './places/git-place.ts';

checkReader('Git over http', () => openGitPlace(startGitOverHttp));
if (sshAvailable()) checkReader('Git over ssh', () => openGitPlace(startGitOverSsh));

const NONE = { added: 0, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 };
const LFS_POINTER = 'version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab\nsize 12345\n';

let repository: GitRepository;
let test: TestAppliance;
let worker: ReturnType<typeof syncWorker>;

beforeAll(async () => {
  repository = await startGitOverHttp();
  const { url } = repository;
  const nowhere = url.replace('/repository.git', '/nowhere.git');
  test = await openTestAppliance({
    sources: {
      code: { type: 'git', url, token: GIT_TOKEN },
      wrong: { type: 'git', url, token: 'other.token' },
      nowhere: { type: 'git', url: nowhere, token: GIT_TOKEN },
      down: { type: 'git', url: 'http://127.0.0.1:1/x.git' },
      secure: { type: 'git', url: url.replace('http:', 'https:') },
    },
  });
  worker = syncWorker(test);
  await worker.start();
});
afterAll(async () => {
  await worker.stop();
  await test.close();
  await repository.close();
});

function write(name: string, content: string | Buffer): void {
  const file = path.join(repository.work, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}

it('reads a folder of a repository, with the times of commits, without links and without what Git LFS stores', async () => {
  write('docs/a.md', 'The first page.');
  write('docs/sub/b.md', 'The second page.');
  write('docs/c.txt', 'Left out.');
  write('docs/model.md', LFS_POINTER);
  write('src/main.c', 'int main;');
  symlinkSync('a.md', path.join(repository.work, 'docs/link.md'));
  repository.commit(new Date('2024-01-02T03:04:05Z'));
  write('docs/sub/b.md', 'The second page, changed.');
  repository.commit(new Date('2024-06-07T08:09:10Z'));
  const config = { path: 'docs/', include: ['**/*.md'] };
  const { id } = await addSource(test, { name: 'docs', connection: 'code', config });
  const source = await sync(test, id);
  expect(source).toMatchObject({ sync_state: 'idle', counts: { ...NONE, added: 2, failed: 1 } });
  expect(source.error_message).toContain('model.md: its content is stored in Git LFS');
  const { sql } = test.appliance;
  const documents =
    await sql`SELECT source_path, event_time FROM documents WHERE source_id = ${id} ORDER BY source_path`;
  expect([...documents]).toEqual([
    { source_path: 'docs/a.md', event_time: new Date('2024-01-02T03:04:05Z') },
    { source_path: 'docs/sub/b.md', event_time: new Date('2024-06-07T08:09:10Z') },
  ]);
  const copies = () => readdirSync(path.join(test.dataDir, 'git'));
  expect(copies()).toContain(id);
  await deleteSource(test.appliance.memory, test.operator, id, { keepDocuments: false });
  await removeDeletedCopies(sql, test.dataDir);
  expect(copies()).not.toContain(id);
});

it.each([
  ['wrong', {}, 'source_refused', /check the token/],
  ['nowhere', {}, 'source_missing', /check its address/],
  ['down', {}, 'source_unavailable', /connect/i],
  ['secure', {}, 'source_refused', /check the certificate/],
  ['code', { branch: 'none' }, 'source_missing', /no such branch/],
] as const)('tells why the repository of %s cannot be read', async (connection, config, category, reason) => {
  const { id } = await addSource(test, { name: `fails-${connection}`, connection, config });
  const source = await sync(test, id);
  expect(source).toMatchObject({ sync_state: 'error', error_category: category });
  expect(source.error_message).toMatch(reason);
  expect(source.error_message).not.toContain('token@');
  expect(source.error_message).not.toContain('other.token');
});

it.each([
  [{ branch: '--upload-pack=x' }],
  [{ branch: 'a..b' }],
  [{ branch: 'a b' }],
  [{ path: '../x' }],
  [{ path: '/x' }],
])('refuses the settings %j', async (config) => {
  await expect(addSource(test, { name: 'bad', connection: 'code', config })).rejects.toMatchObject({ status: 400 });
});
