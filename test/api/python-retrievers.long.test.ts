import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { openPython } from '../support/open-python.ts';

// The Python packages under clients/: their own tests, their types, and the examples of docs/clients.
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const REQUIREMENTS = path.join(ROOT, 'test/fixtures/python/retrievers.txt');
const PACKAGES = { langchain: 'langchain_service', 'llama-index': 'llama_index_service' };
const PAGES = { langchain: 'langchain.md', 'llama-index': 'llamaindex.md' };
const BUCKET = 'manuals';
const ADDRESS = 'http://127.0.0.1:8080';
const INSTALL_MS = 600_000;
const TEST_MS = 300_000;
const run = promisify(execFile);

let directory: string;
let python: string | null;
let test: TestApi;
let key: string;
beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'service-retrievers-'));
  python = openPython(directory, REQUIREMENTS);
  test = await openTestApi();
  key = await test.key({ scopes: ['search', 'buckets:manage'] });
  expect((await test.call('POST', '/v1/buckets', { key, json: { name: BUCKET } })).status).toBe(201);
  const places = ['north', 'south', 'west'];
  await ingestAll(
    test.appliance,
    test.operator,
    BUCKET,
    places.map((place) => ({
      id: place,
      fileName: `${place}.txt`,
      text: `The pump of the ${place} harbour is greased every three months.`,
      metadata: { place },
    })),
  );
}, INSTALL_MS);
afterAll(async () => {
  await test.close();
  rmSync(directory, { recursive: true, force: true });
});

function runPython(args: string[]): Promise<{ stdout: string }> {
  const env = {
    ...process.env,
    SERVICE_URL: test.api.url,
    SERVICE_API_KEY: key,
    SERVICE_BUCKET: BUCKET,
    PYTHONPYCACHEPREFIX: path.join(directory, 'bytecode'),
  };
  // A failure shows what the command printed.
  return run(python as string, args, { env, cwd: directory }).catch((error: { stdout: string; stderr: string }) => {
    throw new Error(`${error.stdout}\n${error.stderr}`);
  });
}

it.for(Object.keys(PACKAGES))('the tests of clients/%s pass', { timeout: TEST_MS }, async (folder, { skip }) => {
  skip(python === null, 'the packages of Python are missing');
  const tests = path.join(ROOT, 'clients', folder, 'tests');
  const { stdout } = await runPython([
    '-m',
    'pytest',
    '-q',
    '-p',
    'no:cacheprovider',
    '-o',
    'asyncio_mode=auto',
    tests,
  ]);
  expect(stdout).toMatch(/\d+ passed/);
  expect(stdout).not.toMatch(/failed|skipped|xfailed/);
});

it('both packages are typed', { timeout: TEST_MS }, async ({ skip }) => {
  skip(python === null, 'the packages of Python are missing');
  const packages = Object.values(PACKAGES).flatMap((name) => ['-p', name]);
  const { stdout } = await runPython([
    ...['-m', 'mypy', '--strict', '--follow-imports=silent', '--cache-dir', path.join(directory, 'mypy')],
    ...packages,
  ]);
  expect(stdout).toContain('no issues found');
});

it.for(Object.entries(PAGES))('the retriever of %s works as its page shows', async ([folder, page], { skip }) => {
  skip(python === null, 'the packages of Python are missing');
  const blocks = readFileSync(path.join(ROOT, 'docs/clients', page), 'utf8').matchAll(/```python\n(.*?)```/gs);
  const name = PACKAGES[folder as keyof typeof PACKAGES];
  const [example] = [...blocks].map(([, code = '']) => code).filter((code) => code.includes(name));
  const code = `key = ${JSON.stringify(key)}\n${example?.replaceAll(ADDRESS, test.api.url)}`;
  const { stdout } = await runPython(['-c', code]);
  expect(stdout).toContain('north.txt The pump of the north harbour is greased every three months.');
});
