import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

// Requests as two applications send them, recorded between them and the service while the steps of their pages
// (docs/clients/open-webui.md, docs/clients/n8n.md) were followed. The applications themselves are not needed.

/** Headers of Open WebUI 0.12.4. */
const OPEN_WEBUI = {
  Accept: '*/*',
  'Accept-Encoding': 'gzip, deflate, br',
  'User-Agent': 'Python/3.11 aiohttp/3.14.5',
};

/** Headers of the nodes of n8n 2.41.1 that use OpenAI's library. */
const N8N = {
  Accept: 'application/json',
  'User-Agent': 'langchainjs-openai/1.0.0 (OpenAI/JS 6.49.0)',
  'openai-platform': 'org-qkmJQuJ2WnvoIKMr2UJwIJkZ',
  'x-stainless-lang': 'js',
  'x-stainless-package-version': '6.49.0',
  'x-stainless-retry-count': '0',
  'x-stainless-runtime': 'node',
};

const TEXT = 'The ferry leaves at noon. The museum opens at ten.';

let api: TestApi;
let searching: string;
let embedding: string;

beforeAll(async () => {
  api = await openTestApi();
  searching = await api.key({ scopes: ['search'] });
  embedding = await api.key({ scopes: ['embed'] });
  const key = await api.key({ scopes: ['documents:write'] });
  const body = new FormData();
  body.append('file', new Blob([TEXT]), 'ferry.txt');
  expect((await api.call('POST', '/v1/buckets/default/documents', { key, body })).status).toBe(202);
});
afterAll(() => api.close());

test('Open WebUI embeds passages and questions with the field that its variables name', async () => {
  for (const [text, task] of [
    [TEXT, 'retrieval_document'],
    ['when does the ferry leave', 'retrieval_query'],
  ] as const) {
    const json = { input: [text], model: 'local/lexical-1', task_type: task };
    const { status, body } = await api.call('POST', '/v1/embeddings', { key: embedding, headers: OPEN_WEBUI, json });
    expect(status).toBe(200);
    expect(body.data[0].embedding).toHaveLength(1024);
  }
});

test('Open WebUI calls the tools of the OpenAPI document with a key that can only search', async () => {
  const { body: tools } = await api.call('GET', '/openapi/tools.json', { key: searching, headers: OPEN_WEBUI });
  const found = Object.entries(tools.paths as Record<string, Record<string, { operationId: string }>>);
  const pathOf = (id: string) =>
    found.find(([, methods]) => Object.values(methods).some(({ operationId }) => operationId === id))?.[0] as string;
  // Path parameters are not repeated in the body, and a model passes null for what it does not use.
  const search = pathOf('searchBucket').replace('{bucket}', 'default');
  const json = { query: 'when does the ferry leave', top_k: 3, collection: null, filter: null };
  const answer = await until(async () => {
    const { status, body } = await api.call('POST', search, { key: searching, headers: OPEN_WEBUI, json });
    expect(status).toBe(200);
    return body.results[0] as { text: string; document_id: string } | undefined;
  });
  expect(answer.text).toBe(TEXT);
  const text = pathOf('getDocumentText').replace('{bucket}', 'default').replace('{document}', answer.document_id);
  const reply = await api.call('GET', `${text}?limit=1000`, { key: searching, headers: OPEN_WEBUI });
  expect(reply.body).toMatchObject({ text: TEXT, next_offset: null });
});

test('the embeddings node of n8n gets the base64 that it asks for, of one text and of a list', async () => {
  for (const input of [TEXT, [TEXT]]) {
    const json = { model: 'local/lexical-1', input, encoding_format: 'base64' };
    const { status, body } = await api.call('POST', '/v1/embeddings', { key: embedding, headers: N8N, json });
    expect(status).toBe(200);
    expect(Buffer.from(body.data[0].embedding, 'base64')).toHaveLength(1024 * 4);
  }
});

test('the Responses API answers a node of n8n with an error of OpenAI that names the API to choose', async () => {
  const json = {
    input: [{ type: 'message', role: 'user', content: 'When does the ferry leave?' }],
    model: 'bucket/default',
    stream: false,
    text: {},
  };
  const { status, body } = await api.call('POST', '/v1/responses', { key: searching, headers: N8N, json });
  expect(status).toBe(404);
  expect(body.error).toMatchObject({
    code: 'unknown_route',
    message: 'there is no route POST /v1/responses; choose the API /v1/chat/completions in the client',
  });
});
