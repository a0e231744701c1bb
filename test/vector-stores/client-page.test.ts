import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { STORE_SCOPES } from '../support/vector-stores.ts';

// The example in JavaScript of docs/clients/openai-vector-stores.md, run in a process of its own.
const PAGE = fileURLToPath(new URL('../../docs/clients/openai-vector-stores.md', import.meta.url));
const ADDRESS = 'http://127.0.0.1:8080';
const run = promisify(execFile);

let test: TestApi;
let directory: string;
beforeAll(async () => {
  test = await openTestApi();
  // The library is found from a folder of this package.
  directory = mkdtempSync(path.join(import.meta.dirname, '.page-'));
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await test.close();
});

it('the example of the page finds the passage of its file, and changes its attributes', async () => {
  const [, code = ''] = /```js\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const file = path.join(directory, 'example.mjs');
  const rest = 'console.log(JSON.stringify({ answers, id: file.id, store: store.id }));';
  writeFileSync(file, `${code.replaceAll(ADDRESS, test.api.url)}\n${rest}\n`);
  const { PATH } = process.env;
  const key = await test.key({ scopes: STORE_SCOPES });
  const { stdout } = await run(process.execPath, [file], { env: { PATH, KEY: key } });
  const { answers, id, store } = JSON.parse(stdout);
  expect(answers).toEqual([{ file_id: id, text: expect.stringContaining('The ferry leaves at noon.') }]);
  const { body } = await test.call('GET', `/v1/vector_stores/${store}/files/${id}`, { key });
  expect(body).toMatchObject({ status: 'completed', attributes: { season: 'summer' } });
});
