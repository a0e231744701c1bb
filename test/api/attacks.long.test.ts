import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { HOSTILE_MARKDOWN } from '../ingest/hostile-markdown.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { makeEpub, makeOdf } from '../support/office-samples.ts';
import { until } from '../support/until.ts';
import { waitingBackends } from '../support/waiting-backends.ts';

// Attacks over HTTP with the rights of an ordinary key of one organization, beside requests of another. The figures are
// those of `npm run bench -- attacks`.

const MIB = 1024 * 1024;
const PATIENT = { withinMs: 120_000, everyMs: 100 };

let api: TestApi;
let attacker: string;
let other: string;
beforeAll(async () => {
  api = await openTestApi();
  attacker = await api.key({ org: 'attacker' });
  other = await api.key({ org: 'other' });
});
afterAll(() => api.close());

const upload = (key: string, filename: string, bytes: Buffer, server = api) =>
  server.call('POST', '/v1/buckets/default/documents', {
    key,
    json: { filename, content_base64: bytes.toString('base64'), on_duplicate: 'allow' },
  });

/** Upload a document and wait for the end of its job. */
async function outcomeOf(filename: string, bytes: Buffer, server = api, key = attacker) {
  const { status, body } = await upload(key, filename, bytes, server);
  expect(status).toBe(202);
  let job: Record<string, unknown> = {};
  await until(async () => {
    job = (await server.call('GET', `/v1/jobs/${body.job_id}`, { key })).body;
    return ['ready', 'failed'].includes(String(job['status']));
  }, PATIENT);
  return job;
}

test('a body of 16 MB to a search is refused before it is read', async () => {
  const body = JSON.stringify({ query: 'x', more: 'y'.repeat(16 * MIB) });
  const headers = { 'Content-Type': 'application/json' };
  const { status } = await api.call('POST', '/v2/buckets/default/search', { key: attacker, body, headers });
  expect(status).toBe(413);
});

test('20 MB of open brackets in Markdown end in one attempt, while the server answers others', async () => {
  const brackets = Buffer.from((HOSTILE_MARKDOWN['brackets'] as (chars: number) => string)(20 * MIB));
  // Reading them takes more than a minute.
  const server = await openTestApi({ settings: { limits: { document_seconds: 3 } } });
  onTestFinished(() => server.close());
  const reading = outcomeOf('brackets.md', brackets, server, await server.key({ org: 'attacker' }));
  const neighbour = await server.key({ org: 'other' });
  // The server and the worker are one process here.
  for (let i = 0; i < 20; i++) expect((await server.call('GET', '/v1/me', { key: neighbour })).status).toBe(200);
  expect(await reading).toMatchObject({
    ...{ status: 'failed', error_category: 'timeout', retryable: false, retry_count: 0 },
  });
});

test('documents of a few hundred bytes that ask for millions of characters are refused or stay small', async () => {
  const cell = '<table:table-cell table:number-columns-repeated="1000"><text:p>wide</text:p></table:table-cell>';
  const rows = `<table:table-row table:number-rows-repeated="1000">${cell}</table:table-row>`;
  const sheet = makeOdf('spreadsheet', `<table:table table:name="S">${rows.repeat(4)}</table:table>`);
  expect(await outcomeOf('cells.ods', sheet)).toMatchObject({
    ...{ status: 'failed', error_category: 'too_large', retryable: false, retry_count: 0 },
  });
  const book = makeEpub({ 'a.xhtml': `<p>word</p><${'a'.repeat(MIB)}` });
  const read = await outcomeOf('tag.epub', book);
  expect([read['status'], Number(read['chunks_count']) <= 10]).toEqual(['ready', true]);
});

test('a query to PostgreSQL ends when the client that it was for is gone', async () => {
  const { sql } = api.appliance;
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = sql.begin(async (tx) => {
    await tx`LOCK TABLE collections IN ACCESS EXCLUSIVE MODE`;
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const client = new AbortController();
  const requests = Array.from({ length: 3 }, () =>
    fetch(`${api.api.url}/v1/buckets/default/collections`, {
      headers: { Authorization: `Bearer ${attacker}` },
      signal: client.signal,
    }).catch(() => undefined),
  );
  expect(await until(async () => (await waitingBackends(sql)).length >= 3, PATIENT)).toBe(true);
  client.abort();
  await Promise.all(requests);
  // The lock is still held: only their cancellation ends these queries.
  expect(await until(async () => (await waitingBackends(sql)).length === 0, PATIENT)).toBe(true);
  release.resolve();
  await holding;
});

test('large bodies that are announced and arrive slowly keep no large body of another organization out', async () => {
  const { hostname, port } = new URL(api.api.url);
  const sockets: Socket[] = [];
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  for (let i = 0; i < 50; i++) {
    const socket = connect(Number(port), hostname).on('error', () => undefined);
    sockets.push(socket);
    const length = i % 2 === 0 ? `Content-Length: ${60 * MIB}` : 'Transfer-Encoding: chunked';
    socket.write(
      `POST /v1/buckets/default/documents HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${attacker}\r\n` +
        `Content-Type: application/json\r\n${length}\r\n\r\n{`,
    );
  }
  for (let i = 0; i < 3; i++) {
    expect((await upload(other, 'large.txt', Buffer.alloc(5 * MIB, `word ${i} `))).status).toBe(202);
  }
});
