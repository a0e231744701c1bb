import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { openPython } from '../support/open-python.ts';
import { STORE_SCOPES } from '../support/vector-stores.ts';

// The example in Python of docs/clients/openai-vector-stores.md, and the other calls, with the official library.
const PAGE = fileURLToPath(new URL('../../docs/clients/openai-vector-stores.md', import.meta.url));
const REQUIREMENTS = fileURLToPath(new URL('../fixtures/python/openai.txt', import.meta.url));
const ADDRESS = 'http://127.0.0.1:8080';
const INSTALL_MS = 600_000;
const run = promisify(execFile);

const REST = `
stores = [each.id for each in client.vector_stores.list(limit=1)]
files = [each.id for each in client.vector_stores.files.list(vector_store_id=store.id, limit=1, order="asc")]
of_batch = [each.id for each in client.vector_stores.file_batches.list_files(batch.id, vector_store_id=store.id, limit=1)]
content = [each.text for each in client.vector_stores.files.content(market.id, vector_store_id=store.id)]
edited = client.vector_stores.files.update(market.id, vector_store_id=store.id, attributes={"since": 2020.5})
uploaded = client.vector_stores.files.upload_and_poll(vector_store_id=store.id, file=("last.txt", b"The last one."))
removed = client.vector_stores.files.delete(market.id, vector_store_id=store.id)
kept = client.files.retrieve(market.id).id == market.id
changed = client.vector_stores.update(store.id, name="Guide", metadata={"a": "b"})
counts = client.vector_stores.retrieve(store.id).file_counts
deleted = client.vector_stores.delete(store.id)
print(json.dumps({
    "batch": [batch.status, batch.file_counts.completed], "answers": answers, "old": [each.file_id for each in old] == [market.id],
    "market": [market.status, market.attributes], "store": stores[0] == store.id, "files": len(files), "of_batch": set(of_batch) < set(files),
    "content": content, "edited": edited.attributes, "uploaded": uploaded.status, "removed": removed.deleted, "kept": kept,
    "changed": [changed.name, changed.metadata, changed.expires_after.days], "total": counts.total, "deleted": deleted.deleted,
}))
`;

let directory: string;
let python: string | null;
let test: TestApi;
beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'service-python-'));
  python = openPython(directory, REQUIREMENTS);
  test = await openTestApi();
}, INSTALL_MS);
afterAll(async () => {
  await test.close();
  rmSync(directory, { recursive: true, force: true });
});

it('the Python library runs the example of the page, and every other call on vector stores', async ({ skip }) => {
  if (python === null) skip('there is no Python');
  const [, code = ''] = /```python\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const key = await test.key({ scopes: STORE_SCOPES });
  const own = `import json\nkey = ${JSON.stringify(key)}\n${code.replaceAll(ADDRESS, test.api.url)}${REST}`;
  const { stdout } = await run(python as string, ['-c', own]);
  expect(JSON.parse(stdout)).toEqual({
    batch: ['completed', 2],
    answers: {
      'ferry.md': expect.stringContaining('The ferry leaves at noon.'),
      'museum.md': expect.stringContaining('The museum opens at ten.'),
    },
    old: true,
    market: ['completed', { since: 2019, open_air: true }],
    store: true,
    files: 3,
    of_batch: true,
    content: ['The market is on Sunday since 2019.'],
    edited: { since: 2020.5 },
    uploaded: 'completed',
    removed: true,
    kept: true,
    changed: ['Guide', { a: 'b' }, 30],
    total: 3,
    deleted: true,
  });
});
