import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { openResponseCheck } from '../support/response-check.ts';

// Tests of `/openapi.json` as clients and tools read it. Beside these, `openTestApi` checks every response of the tests
// against the document, and CI sends generated requests (test/schemathesis).
type Json = Record<string, unknown>;
let api: TestApi;
let document: Json;

beforeAll(async () => {
  api = await openTestApi({ worker: false });
  document = (await api.call('GET', '/openapi.json')).body;
});
afterAll(() => api.close());

const isValid = async (json: Json) => (await new Validator().validate(structuredClone(json))).valid;
const lint = async (json: Json) => {
  const config = await createConfig({ extends: ['spec'] });
  const problems = await lintFromString({ source: JSON.stringify(json), absoluteRef: 'openapi.json', config });
  return problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} (${location[0]?.pointer})`);
};

test('two independent validators accept the document, and refuse a broken one', async () => {
  expect(await isValid(document)).toBe(true);
  expect(await lint(document)).toEqual([]);
  const broken = { ...document, paths: { '/x': { get: { responses: { 200: { $ref: '#/nowhere' } } } } } };
  expect(await lint(broken)).not.toEqual([]);
  expect(await isValid({ ...document, paths: { x: {} } })).toBe(false);
});

test('the document for language models is valid, and has only operations that read', async () => {
  const tools = (await api.call('GET', '/openapi/tools.json')).body;
  expect(await isValid(tools)).toBe(true);
  expect(await lint(tools)).toEqual([]);
  type Operation = { operationId: string; description: string };
  const operations = Object.values(tools.paths as Record<string, Record<string, Operation>>).flatMap((methods) =>
    Object.values(methods),
  );
  expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual([
    'getDocumentText',
    'listBuckets',
    'searchBucket',
    'searchBuckets',
  ]);
  // Open WebUI shows models the description, and the summary only without one.
  for (const { description } of operations) expect(description).toMatch(/^(Find|List|Read) the /);
});

test('every reference resolves, and no schema has definitions of its own', () => {
  const text = JSON.stringify(document);
  expect(text).not.toContain('$defs');
  const references = new Set(Array.from(text.matchAll(/"\$ref":"([^"]+)"/g), ([, reference]) => reference as string));
  expect(references.size).toBeGreaterThan(40);
  for (const reference of references) {
    const found = reference
      .slice(2)
      .split('/')
      .reduce<unknown>((value, key) => (value as Json | undefined)?.[key], document);
    expect([reference, found]).toEqual([reference, expect.any(Object)]);
  }
});

test('regular expressions are in the portable subset: no look-around, no classes of Unicode, no named groups', () => {
  const patterns = Array.from(JSON.stringify(document).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g), ([, text]) =>
    JSON.parse(text as string),
  );
  expect(patterns.length).toBeGreaterThan(3);
  for (const pattern of patterns) expect(pattern).not.toMatch(/\(\?[=!<]|\\[pPkbB]|\\u\{/);
});

test('every operation lists its errors with their schema, and where it is', () => {
  const paths = document['paths'] as Record<string, Record<string, { responses: Json }>>;
  expect(document['servers']).toEqual([{ url: '/', description: expect.any(String) }]);
  for (const [path, operations] of Object.entries(paths)) {
    for (const [method, { responses }] of Object.entries(operations)) {
      const statuses = Object.keys(responses);
      expect([method, path, statuses]).toEqual([method, path, expect.arrayContaining(['400', '500', '503'])]);
      expect(statuses).not.toContain('default');
    }
  }
});

test('the check of responses refuses what the document does not describe', () => {
  const check = openResponseCheck(document);
  const headers = new Headers({ 'Content-Type': 'application/json', 'X-Request-Id': 'r' });
  const health = (status: number, body: unknown, more: Record<string, string> = {}) => {
    const all = new Headers([...headers, ...Object.entries(more)]);
    return () => check('GET', '/healthz', { status, headers: all, body });
  };
  expect(health(200, { status: 'ok' })).not.toThrow();
  expect(health(200, { status: 'bad' })).toThrow(/the body differs/);
  expect(health(200, { status: 'ok', more: 1 })).toThrow(/the body differs/);
  expect(health(418, {})).toThrow(/does not list the status/);
  expect(health(200, { status: 'ok' }, { 'Retry-After': '1' })).toThrow(/does not describe the header retry-after/);
  expect(health(200, { status: 'ok' }, { 'Content-Type': 'text/html' })).toThrow(/content type/);
  expect(() => check('GET', '/v1/models/vendor-a/x', { status: 418, headers, body: {} })).toThrow(/getModel/);
});
