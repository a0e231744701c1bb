import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { install } from '../support/local-models.ts';
import { openPython } from '../support/open-python.ts';

// Every example of docs/clients/rerankers.md, run with the client's own library against a whole installation.
const PAGE = fileURLToPath(new URL('../../docs/clients/rerankers.md', import.meta.url));
const REQUIREMENTS = fileURLToPath(new URL('../fixtures/python/rerank-clients.txt', import.meta.url));
const ADDRESS = 'http://127.0.0.1:8080';
const INSTALL_MS = 600_000;
const run = promisify(execFile);

const [common = '', ...examples] = [...readFileSync(PAGE, 'utf8').matchAll(/```python\n(.*?)```/gs)].map(
  ([, code = '']) => code,
);

let directory: string;
let python: string | null;
let test: TestApi;
let key: string;
beforeAll(async () => {
  directory = mkdtempSync(path.join(tmpdir(), 'service-python-'));
  python = openPython(directory, REQUIREMENTS);
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['embed'] });
  await install(test.appliance, 'reranker', { name: 'local/bge-reranker', kind: 'reranker' });
}, INSTALL_MS);
afterAll(async () => {
  await test.close();
  rmSync(directory, { recursive: true, force: true });
});

/** Run code of Python and return what its last line, which is added, prints as JSON. */
async function evaluate(code: string, last: string): Promise<unknown> {
  const own = `import json\nkey = ${JSON.stringify(key)}\n${common}${code}\nprint(json.dumps(${last}))\n`;
  const { stdout } = await run(python as string, ['-c', own.replaceAll(ADDRESS, test.api.url)], {
    env: { ...process.env, HF_HUB_OFFLINE: '1' },
  });
  return JSON.parse(stdout.trim().split('\n').at(-1) as string);
}

async function ranked(top_n: number): Promise<[number, number][]> {
  const query = 'When does the ferry leave?';
  const documents = ['The museum opens at ten.', 'The ferry leaves at noon.', 'It rains.'];
  const { body } = await test.call('POST', '/v2/rerank', { key, json: { query, documents, top_n } });
  return body.results.map((each: { index: number; relevance_score: number }) => [each.index, each.relevance_score]);
}

const named = examples.map((code) => {
  const library = /^(?:from|import) ((?!llama_index\.core|langchain_core)\S+)/m.exec(code)?.[1] ?? '';
  return [library, code] as const;
});

it.for(named)('the example with %s gets the best two documents with their scores', async ([, code], { skip }) => {
  if (python === null) skip('there is no Python');
  expect(await evaluate(code, 'ranked')).toEqual(await ranked(2));
});

it('the page has an example of each client', () => {
  expect(named.map(([library]) => library)).toEqual([
    ...['cohere', 'cohere', 'voyageai', 'requests', 'langchain_cohere', 'langchain_voyageai'],
    ...['llama_index.postprocessor.cohere_rerank', 'llama_index.postprocessor.jinaai_rerank'],
  ]);
});

it('the clients show the message of a refusal', async ({ skip }) => {
  if (python === null) skip('there is no Python');
  const attempt = (call: string) => `
import cohere, voyageai
from llama_index.core.schema import NodeWithScore, TextNode
from llama_index.postprocessor.jinaai_rerank import JinaRerank
nodes = [NodeWithScore(node=TextNode(text="a"))]
try:
    ${call}
    message = "none"
except Exception as error:
    message = str(error)
`;
  const calls = [
    `cohere.ClientV2(api_key=key, base_url="${ADDRESS}").rerank(model="absent", query="q", documents=["a"])`,
    `voyageai.Client(api_key=key, base_url="${ADDRESS}/v1").rerank("q", ["a"], model="absent")`,
    `JinaRerank(api_key=key, base_url="${ADDRESS}/v1", model="absent").postprocess_nodes(nodes, query_str="q")`,
  ];
  for (const call of calls) {
    expect(await evaluate(attempt(call), 'message')).toContain('no reranker has the name "absent"');
  }
});
