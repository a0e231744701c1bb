import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { openPython } from '../support/open-python.ts';

// The example in Python of docs/clients/openai-batches.md, and lists, with the official library.
const PAGE = fileURLToPath(new URL('../../docs/clients/openai-batches.md', import.meta.url));
/** The newest major of the library, and the one before. */
const MAJORS = ['openai', 'openai-2'];
const ADDRESS = 'http://127.0.0.1:8080';
const INSTALL_MS = 600_000;
const run = promisify(execFile);

const REST = `
files = [each.id for each in client.files.list(limit=1, order="asc")]
listed = [each.id for each in client.batches.list(limit=1)]
deleted = client.files.delete(file.id).deleted
print(json.dumps({
    "ids": sorted(vectors), "sizes": sorted({len(each) for each in vectors.values()}),
    "files": files == [file.id, batch.output_file_id], "batches": listed == [batch.id], "deleted": deleted,
    "counts": batch.request_counts.model_dump(), "tokens": batch.usage.total_tokens > 0,
}))
`;

let directory: string;
let test: TestApi;
let worker: Service;
beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'service-python-'));
  test = await openTestApi({ worker: false });
  worker = test.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
  rmSync(directory, { recursive: true, force: true });
});

describe.each(MAJORS)('the Python library of %s.txt', (major) => {
  it('runs the example of the page, lists files and batches page by page, and deletes a file', {
    timeout: INSTALL_MS,
  }, async ({ skip }) => {
    const requirements = fileURLToPath(new URL(`../fixtures/python/${major}.txt`, import.meta.url));
    const python = openPython(path.join(directory, major), requirements);
    if (python === null) skip('there is no Python');
    const [, code = ''] = /```python\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8')) ?? [];
    const key = await test.key({ scopes: ['embed'], org: major });
    const own = `key = ${JSON.stringify(key)}\n${code.replaceAll(ADDRESS, test.api.url)}${REST}`;
    const { stdout } = await run(python as string, ['-c', own]);
    const { sizes, ...rest } = JSON.parse(stdout);
    expect(sizes).toHaveLength(1);
    expect(rest).toEqual({
      ids: ['text-0', 'text-1'],
      files: true,
      batches: true,
      deleted: true,
      counts: { total: 2, completed: 2, failed: 0 },
      tokens: true,
    });
  });
});
