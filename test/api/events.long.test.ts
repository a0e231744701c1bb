import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { EventQueue } from '../../src/appliance/live/events.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type OpenStream, openEvents, type SentEvent } from '../support/event-stream.ts';
import { until } from '../support/until.ts';

let test: TestApi;
const open: OpenStream[] = [];
beforeAll(async () => {
  test = await openTestApi();
});
afterEach(() => {
  for (const stream of open.splice(0)) stream.close();
});
afterAll(() => test.close());

const bearer = (key: string) => ({ Authorization: `Bearer ${key}` });

async function follow(headers: Record<string, string>, query: Record<string, string> = {}): Promise<OpenStream> {
  const stream = await openEvents(test, headers, query);
  open.push(stream);
  return stream;
}

const has = (stream: OpenStream, isWanted: (event: SentEvent) => boolean, what: string) =>
  until(async () => stream.events.some(isWanted), { what, withinMs: 60_000 });

async function upload(key: string, name: string, more: object = {}) {
  const json = { filename: `${name}.txt`, text: `About ${name}.`, ...more };
  return (await test.call('POST', '/v1/buckets/default/documents', { key, json })).body as {
    id: string;
    job_id: string;
  };
}

/** Wait until a feed has made its first reading: only what changes after it is told. */
async function isReading(stream: OpenStream, key: string): Promise<void> {
  await until(
    async () => {
      await upload(key, `warm-${Math.random()}`);
      return stream.events.length > 0;
    },
    { what: 'the first event', withinMs: 60_000, everyMs: 500 },
  );
}

it('a caller follows the jobs and documents that it may see', async () => {
  const key = await test.key({ authLevel: 5 });
  const stream = await follow(bearer(key));
  await isReading(stream, key);
  const { id, job_id } = await upload(key, 'harbour');
  await has(stream, ({ event, data }) => event === 'jobs' && data.id === job_id && data.status === 'ready', 'the job');
  await has(stream, ({ event, data }) => event === 'documents' && data.id === id, 'the document');
  await has(stream, ({ event, data }) => event === 'queues' && data.counts.ready > 0, 'the counts');
  expect(stream.text()).toMatch(/^retry: 2000\n\n/);
  expect(stream.events.every(({ event, data }) => data.topic === event && typeof data.id === 'string')).toBe(true);
});

it('an edit and a deletion are told, to those who may read the document', async () => {
  const key = await test.key({ authLevel: 10, scopes: ['documents:write', 'buckets:manage', 'platform_admin'] });
  const stream = await follow(bearer(key), { topics: 'documents' });
  await isReading(stream, key);
  const { id } = await upload(key, 'edited');
  await has(stream, ({ data }) => data.id === id, 'the upload');
  const count = () => stream.events.filter(({ data }) => data.id === id).length;
  const path = `/v1/buckets/default/documents/${id}`;
  const before = count();
  await test.call('PATCH', `${path}/metadata`, { key, json: { metadata: { a: 'b' }, reindex: false } });
  await until(async () => count() > before, { what: 'the edit', withinMs: 60_000 });
  const edited = count();
  await test.call('DELETE', path, { key });
  await until(async () => count() > edited, { what: 'the deletion', withinMs: 60_000 });
  expect(new Set(stream.events.map(({ event }) => event))).toEqual(new Set(['documents']));
});

it('nothing of a hidden document or of another organization is told', async () => {
  const high = await test.key({ authLevel: 10, scopes: ['documents:write', 'buckets:manage'] });
  const low = await test.key({ authLevel: 1 });
  const foreign = await test.key({ org: 'other', authLevel: 10 });
  const streams = [await follow(bearer(low)), await follow(bearer(foreign))] as const;
  await isReading(streams[0], low);
  await isReading(streams[1], foreign);
  const hidden = await upload(high, 'secret', { privacy_level: 9 });
  const path = `/v1/buckets/default/documents/${hidden.id}`;
  await test.call('PATCH', `${path}/metadata`, { key: high, json: { metadata: { a: 'b' }, reindex: false } });
  await test.call('DELETE', path, { key: high });
  const { id } = await upload(low, 'after');
  const { id: theirs } = await upload(foreign, 'after');
  await has(streams[0], ({ data }) => data.id === id, 'the later document');
  await has(streams[1], ({ data }) => data.id === theirs, 'the later document of the other organization');
  for (const stream of streams) {
    for (const trace of [hidden.id, hidden.job_id]) expect(stream.text()).not.toContain(trace);
  }
  expect(streams[1].text()).not.toContain(id);
});

it('a reader who comes back gets what it has missed, or is told that it must read everything', async () => {
  const key = await test.key();
  const stream = await follow(bearer(key));
  await isReading(stream, key);
  const last = stream.events.at(-1)?.id as string;
  stream.close();
  const { id } = await upload(key, 'missed');
  const again = await follow({ ...bearer(key), 'Last-Event-ID': last });
  await has(again, ({ data }) => data.id === id, 'the missed event');
  expect(again.events.some(({ event }) => event === 'reset')).toBe(false);
  const lost = await follow({ ...bearer(key), 'Last-Event-ID': 'of-another-process' });
  await has(lost, ({ event }) => event === 'reset', 'the reset');
});

it('one caller has at most 8 streams, and a closed one makes room', async () => {
  const key = await test.key();
  const streams = await Promise.all(Array.from({ length: 8 }, () => follow(bearer(key))));
  expect(streams.map(({ status }) => status)).toEqual(Array(8).fill(200));
  const refused = await test.call('GET', '/v1/events', { key });
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5']);
  expect((await follow(bearer(await test.key()))).status).toBe(200);
  streams[0]?.close();
  await until(async () => (await follow(bearer(key))).status === 200, { what: 'room for a stream', withinMs: 60_000 });
});

it.each(['nonsense', 'jobs,nonsense', ''])('unknown topics are 400: "%s"', async (topics) => {
  const answer = await test.call('GET', `/v1/events?topics=${topics}`, { key: await test.key() });
  expect(answer.status).toBe(400);
});

it('a slow reader loses events, is told so, and takes no more memory', async () => {
  const queue = new EventQueue(new Set(['jobs']), 3);
  const signal = new AbortController().signal;
  for (let i = 1; i <= 4; i++) queue.push({ id: `f-${i}`, change: { topic: 'jobs', id: `job_${i}` } });
  queue.push({ id: 'f-5', change: { topic: 'sources', id: 'src_1' } });
  queue.push({ id: 'f-6', change: { topic: 'jobs', id: 'job_6' } });
  expect(await queue.take(0, signal)).toEqual([
    { id: 'f-4', change: null },
    { id: 'f-6', change: { topic: 'jobs', id: 'job_6' } },
  ]);
  queue.end();
  expect(await queue.take(60_000, signal)).toBeNull();
});
