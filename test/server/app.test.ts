import { expect, test } from 'vitest';
import { z } from 'zod';
import { BodyMemory } from '../../server/body/body-memory.ts';
import { defineRoute } from '../../server/route.ts';
import { AppError } from '../../src/platform/errors.ts';
import { auth, echo } from './sample-routes.ts';
import { parseResponse, RawClient, startTestServer } from './support.ts';

test('a request is refused in the order 401, 403, 415, 413, 400', async () => {
  const server = await startTestServer([echo], { bodyBytes: 100 });
  const post = (headers: Record<string, string>, body: string) =>
    fetch(`${server.url}/v1/embeddings`, { method: 'POST', headers, body });
  const long = 'x'.repeat(200);
  expect((await post({}, long)).status).toBe(401);
  expect((await post({ Authorization: 'Bearer search' }, long)).status).toBe(403);
  expect((await post({ ...auth, 'Content-Type': 'text/plain' }, long)).status).toBe(415);
  expect((await post({ ...auth, 'Content-Type': 'application/json' }, long)).status).toBe(413);
  expect((await post({ ...auth, 'Content-Type': 'application/json' }, 'x')).status).toBe(400);
});

const LIMIT_BYTES = 5 * 1024 * 1024;
/** Body of a size that memory is reserved for. */
const LARGE_BODY = `{"name":"${'n'.repeat(100_000)}"}`;

/** Request to the route below, and the state of the server meanwhile. */
class Attempt {
  method = 'POST';
  path = '/v1/models/';
  id = '1';
  query = '';
  readonly headers: Record<string, string> = {
    Host: 'x',
    Connection: 'close',
    'Transfer-Encoding': 'chunked',
    Authorization: 'Bearer embed',
    'Content-Type': 'application/json',
    'Idempotency-Key': 'new',
  };
  body = '{"name":"n"}';
  memoryIsTaken = false;
  rateIsUsedUp = false;
  handlerFails = false;

  toBytes(): string {
    const headers = Object.entries(this.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `${this.method} ${this.path}${this.id}?${this.query} HTTP/1.1\r\n${headers.join('')}\r\n`;
    return `${head}${this.body.length.toString(16)}\r\n${this.body}\r\n0\r\n\r\n`;
  }
}

type Fault = [name: string, refusal: { status: number; code: string; param?: string }, add: (to: Attempt) => void];

/** Faults in the order in which the middleware refuses them. */
const FAULTS: readonly Fault[] = [
  ['a path of no route', { status: 404, code: 'unknown_route' }, (to) => (to.path = '/v1/models/none/')],
  ['another method', { status: 405, code: 'method_not_allowed' }, (to) => (to.method = 'PUT')],
  ['no caller', { status: 401, code: 'invalid_api_key' }, (to) => (to.headers['Authorization'] = 'Basic x')],
  ['no scope', { status: 403, code: 'scope_missing' }, (to) => (to.headers['Authorization'] = 'Bearer search')],
  ['a type', { status: 415, code: 'unsupported_media_type' }, (to) => (to.headers['Content-Type'] = 'text/plain')],
  ['gzip', { status: 415, code: 'unsupported_content_encoding' }, (to) => (to.headers['Content-Encoding'] = 'gzip')],
  [
    'no memory',
    { status: 503, code: 'server_busy' },
    (to) => {
      to.memoryIsTaken = true;
      if (to.body.length < LARGE_BODY.length) to.body = LARGE_BODY;
    },
  ],
  ['a large body', { status: 413, code: 'body_too_large' }, (to) => (to.body = ' '.repeat(LIMIT_BYTES + 1))],
  ['no JSON', { status: 400, code: 'invalid_json' }, (to) => (to.body = '{')],
  ['NUL', { status: 400, code: 'invalid_request' }, (to) => (to.query += '&nul=%00')],
  ['a parameter', { status: 400, code: 'invalid_request', param: 'id' }, (to) => (to.id = 'x')],
  ['a query', { status: 400, code: 'invalid_request', param: 'limit' }, (to) => (to.query += '&limit=x')],
  ['no key', { status: 400, code: 'idempotency_key_invalid' }, (to) => (to.headers['Idempotency-Key'] = '')],
  ['a field', { status: 400, code: 'invalid_request', param: 'name' }, (to) => (to.body = '{}')],
  ['the rate', { status: 429, code: 'rate_limited' }, (to) => (to.rateIsUsedUp = true)],
  ['a used key', { status: 422, code: 'idempotency_key_reused' }, (to) => (to.headers['Idempotency-Key'] = 'used')],
  ['the handler', { status: 409, code: 'handler_failed' }, (to) => (to.handlerFails = true)],
];

/** Start a server with a route that declares everything, and return a function that sends one attempt. */
async function startEverything(): Promise<(attempt: Attempt) => Promise<ReturnType<typeof parseResponse>>> {
  let attempt = new Attempt();
  const bodyMemory = new BodyMemory(LIMIT_BYTES);
  const route = defineRoute({
    method: 'POST',
    path: '/v1/models/:id',
    operationId: 'everything',
    summary: 'Declares everything',
    access: 'embed',
    errors: 'embedding',
    reads: 'json',
    bodyLimitBytes: LIMIT_BYTES,
    idempotent: true,
    headers: { Sunset: 'soon' },
    axis: () => 'embed_batch',
    params: z.object({ id: z.coerce.number() }),
    query: z.object({ limit: z.coerce.number().optional() }),
    body: z.object({ name: z.string() }),
    responses: {},
    async handle({ body }) {
      if (attempt.handlerFails) throw new AppError({ code: 'handler_failed', status: 409, message: 'it failed' });
      return { body };
    },
  });
  const rates = { take: () => ({ limit: 1, remaining: 0, resetSeconds: 1, allowed: !attempt.rateIsUsedUp }) };
  const server = await startTestServer([route], { settings: { bodyMemory, rates } });
  return async (next) => {
    attempt = next;
    const taken = bodyMemory.open('org_test');
    if (attempt.memoryIsTaken) taken.add(LIMIT_BYTES);
    const client = await RawClient.connect(server.port);
    client.write(attempt.toBytes());
    const response = parseResponse(await client.closedByServer());
    taken.release();
    return response;
  };
}

test('a request with several faults is refused for the first of them in the order of the middleware', async () => {
  const answer = await startEverything();
  const earlier = new Attempt();
  earlier.headers['Idempotency-Key'] = 'used';
  earlier.body = '{"name":"another"}';
  expect((await answer(earlier)).status).toBe(200);

  const rateAt = FAULTS.findIndex(([, { code }]) => code === 'rate_limited');
  for (const [i, [name, { status, ...error }]] of FAULTS.entries()) {
    const attempt = new Attempt();
    for (const [, , add] of FAULTS.slice(i).reverse()) add(attempt);
    const response = await answer(attempt);
    expect(response, name).toMatchObject({ status, json: { error } });
    // No route has matched before the caller is asked for.
    expect(response.headers.get('sunset'), name).toBe(i < 2 ? undefined : 'soon');
    expect(response.headers.has('ratelimit-limit'), name).toBe(i >= rateAt);
  }
  expect(await answer(new Attempt())).toMatchObject({ status: 200, json: { name: 'n' } });
});
