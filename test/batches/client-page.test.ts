import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

// The example in JavaScript of docs/clients/openai-batches.md, run in a process of its own.
const PAGE = fileURLToPath(new URL('../../docs/clients/openai-batches.md', import.meta.url));
const ADDRESS = 'http://127.0.0.1:8080';
const run = promisify(execFile);

let test: TestApi;
let worker: Service;
let directory: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  worker = test.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
  // The library is found from a folder of this package.
  directory = mkdtempSync(path.join(import.meta.dirname, '.page-'));
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await worker.stop();
  await test.close();
});

it('the example of the page gets one answer for each text', async () => {
  const [, code = ''] = /```js\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8')) ?? [];
  const file = path.join(directory, 'example.mjs');
  writeFileSync(file, `${code.replaceAll(ADDRESS, test.api.url)}\nconsole.log(JSON.stringify(answers));\n`);
  const { PATH } = process.env;
  const key = await test.key({ scopes: ['embed'] });
  const { stdout } = await run(process.execPath, [file], { env: { PATH, KEY: key } });
  const answers = JSON.parse(stdout);
  const ids = answers.map((each: { custom_id: string }) => each.custom_id);
  expect(ids).toEqual(['text-0', 'text-1']);
  for (const { response } of answers) expect(response.body.data[0].embedding.length).toBeGreaterThan(100);
});
