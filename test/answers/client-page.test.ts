import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type AnsweringApi, openAnsweringApi } from '../support/answers.ts';

// The example of docs/clients/openai-chat.md, run with the official library in a process of its own.
const PAGE = fileURLToPath(new URL('../../docs/clients/openai-chat.md', import.meta.url));
const ADDRESS = 'http://127.0.0.1:8080';
const run = promisify(execFile);

let opened: AnsweringApi;
let directory: string;
beforeAll(async () => {
  opened = await openAnsweringApi();
  // The library is found from a folder of this package.
  directory = mkdtempSync(path.join(import.meta.dirname, '.page-'));
});
afterAll(async () => {
  rmSync(directory, { recursive: true, force: true });
  await opened.close();
});

it.each(['openai', 'openai-6'])(
  'the example of the page answers from a bucket, whole and streamed, with %s',
  async (library) => {
    const [, code = ''] = /```js\n(.*?)```/s.exec(readFileSync(PAGE, 'utf8')) ?? [];
    const file = path.join(directory, `${library}.mjs`);
    const rest = 'console.log(JSON.stringify({ message, written, usage: completion.usage }));';
    const example = code.replace("from 'openai'", `from '${library}'`).replaceAll(ADDRESS, opened.test.api.url);
    writeFileSync(file, `${example}\n${rest}\n`);
    const { PATH } = process.env;
    const { stdout } = await run(process.execPath, [file], { env: { PATH, KEY: opened.key } });
    const { message, written, usage } = JSON.parse(stdout);
    expect(message.content).toMatch(/^Grease the bearings every week\. \[1\][\s\S]*Sources:\n- \[1\] \[bearings\.md\]/);
    expect(message.annotations[0].url_citation.title).toBe('bearings.md');
    expect(written).toBe(message.content);
    expect(usage.total_tokens).toBe(120);
  },
);
