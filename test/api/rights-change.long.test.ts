import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { apiRoutes } from '../../server/api-service.ts';
import type { Route } from '../../server/route.ts';
import { SCOPES } from '../../src/access/caller.ts';
import { connectHttp, startToolServer, textOf as toolTextOf } from '../mcp/support.ts';
import { type Answer, openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, PATIENT, signedDelivery, WEBHOOK } from '../support/channels.ts';
import { type FakeChat, startFakeChat } from '../support/fake-chat.ts';
import { send } from '../support/route-matrix.ts';
import { type MatrixIds, MISSING, REQUESTS, TOPIC } from '../support/route-requests.ts';
import { until } from '../support/until.ts';

// What a caller was shown before a change of rights is not shown again by any read path afterwards: by no route that
// shows documents, no history, no repeated reply, no session of the tool server, no link and no stream. The routes come
// from the route table.

const CANARY = 'kingfisher';
const READER_LEVEL = 5;

let test: TestApi;
let chat: FakeChat;
let routes: Route[];
let owner: string;
let reader: string;

beforeAll(async () => {
  chat = await startFakeChat('openai');
  const answers = { protocol: 'openai', base_url: chat.url, model: 'chat-1', keep_days: 1 };
  test = await openTestApi({ settings: { ...PATIENT, answers, search: { result_links: 'signed' } } });
  routes = apiRoutes(test.appliance, () => {});
  owner = await test.key({ scopes: [...SCOPES], authLevel: 10 });
  const scopes = SCOPES.filter((scope) => scope !== 'platform_admin');
  reader = await test.key({ scopes, authLevel: READER_LEVEL });
  await post(owner, '/v1/groups', { name: 'readers', members: [`key:${reader.split('_')[1]}`] });
});
afterAll(async () => {
  await test.close();
  await chat.close();
});

const post = async (key: string, path: string, json: object, headers: Record<string, string> = {}): Promise<Answer> =>
  test.call('POST', path, { key, json, headers });
const textOf = ({ body }: Answer) => (typeof body === 'string' ? body : JSON.stringify(body));

/** Upload a document that the reader may read, and without more fields the channel too, into a bucket of its own. */
async function makeDocument(name: string, fields: object): Promise<MatrixIds> {
  const bucket = (await post(owner, '/v1/buckets', { name })).body.id;
  const collection = (await post(owner, `/v1/buckets/${name}/collections`, { name })).body.id;
  const { body } = await post(owner, `/v1/buckets/${name}/documents`, {
    ...{ filename: `${name}.txt`, text: `The ${CANARY} of the ${TOPIC}: ${name}.`, public_accessible: true },
    metadata: { topic: TOPIC },
    collection_id: collection,
    ...fields,
  });
  await until(async () => (await test.call('GET', `/v1/jobs/${body.job_id}`, { key: owner })).body.status === 'ready', {
    what: 'ingest',
  });
  return { ...MISSING, bucket, collection, document: body.id, job: body.job_id };
}

/** Change for which the document names a group of the reader, so that the channel does not find it. */
const LEAVES = 'the reader leaves its group';

/** Ways in which a reader loses a document. */
const CHANGES: Readonly<Record<string, (document: string, bucket: string) => Promise<unknown>>> = {
  'its level rises': (document, bucket) => edit(document, bucket, { privacy_level: READER_LEVEL + 1 }),
  'it moves to a department': (document, bucket) => edit(document, bucket, { metadata: { scope: 'sales' } }),
  'it names a group that the reader has not': async (document, bucket) => {
    await post(owner, '/v1/groups', { name: 'others' });
    await edit(document, bucket, { access: { groups: ['others'] } });
  },
  [LEAVES]: async () => {
    const json = { remove: [`key:${reader.split('_')[1]}`] };
    expect((await test.call('PATCH', '/v1/groups/readers', { key: owner, json })).status).toBe(200);
    const groups = async () => (await test.call('GET', '/v1/me', { key: reader })).body.groups;
    await until(async () => (await groups()).length === 0, { what: 'a look at the groups of the reader' });
  },
  'it is deleted': async (document, bucket) => {
    const path = `/v1/buckets/${bucket}/documents/${document}`;
    expect((await test.call('DELETE', path, { key: owner })).status).toBeLessThan(300);
  },
};

async function edit(document: string, bucket: string, change: object): Promise<void> {
  const path = `/v1/buckets/${bucket}/documents/${document}/metadata`;
  const { status, body } = await test.call('PATCH', path, {
    key: owner,
    json: { ...change, reindex: false },
  });
  expect([status, body.detail]).toEqual([200, undefined]);
}

describe.each(Object.keys(CHANGES))('after a reader has lost a document because %s', (change) => {
  it('no read path shows it', async () => {
    const name = change.replaceAll(' ', '-');
    const isListed = change === LEAVES;
    const ids = await makeDocument(name, isListed ? { access: { groups: ['readers'] } } : {});
    // The job of a removed document stays in the list, with its id, for those who could read it.
    const traces = change === 'it is deleted' ? [CANARY] : [ids.document, CANARY];
    const shown = (answer: Answer, more: readonly string[] = traces) =>
      more.some((trace) => textOf(answer).includes(trace));

    const showing = routes.filter(({ operationId }) => REQUESTS[operationId]?.shows && operationId !== 'listJobFiles');
    for (const route of showing) {
      const answer = await send(test, route, reader, ids);
      expect([route.operationId, answer.status, shown(answer, [ids.document, CANARY, name])]).toEqual([
        route.operationId,
        200,
        true,
      ]);
    }
    // A workflow whose run keeps what it found.
    const definition = {
      blocks: [{ id: 'find', type: 'search', with: { bucket: name, query: CANARY } }],
      output: '{{blocks.find.output}}',
    };
    const workflow = (await post(reader, '/v1/workflows', { name, definition })).body.id;
    await post(reader, `/v1/workflows/${workflow}/publish`, {});
    const run = () =>
      post(reader, `/v1/workflows/${workflow}/run`, { inputs: {}, mode: 'simulate' }, { 'Idempotency-Key': name });
    const first = await run();
    const history = () => test.call('GET', `/v1/workflows/${workflow}/runs/${first.body.run_id}`, { key: reader });
    expect([shown(first), shown(await history()), shown(await run())]).toEqual([true, true, true]);
    // A session of the tool server that remembers its results.
    const tools = await startToolServer({
      ...{ SERVICE_API_BASE_URL: test.api.url, SERVICE_MCP_AUTH_MODE: 'upstream-bearer', SERVICE_DEFAULT_BUCKET: name },
    });
    const client = await connectHttp(tools.url, '2025-11-25', reader);
    const found = JSON.parse(toolTextOf(await client.callTool({ name: 'search', arguments: { query: CANARY } })));
    const fetched = () => client.callTool({ name: 'fetch', arguments: { id: found.results[0].id } });
    expect(toolTextOf(await fetched())).toContain(CANARY);
    // An answer that is kept.
    const { id } = (await post(reader, '/v1/answers', { query: CANARY, buckets: [name] })).body;
    const kept = () => test.call('GET', `/v1/answers/${id}`, { key: reader });
    expect(shown(await kept())).toBe(true);
    // A delivery that the messenger repeats.
    const bot = `bot-${name}`;
    await createConfig(test, owner, { bot_id: bot, collection: name, score_min: 0 });
    const delivery = signedDelivery({ bot_id: bot, user_id: name, utterance: CANARY });
    const answered = () => test.call('POST', WEBHOOK, delivery);
    expect(shown(await answered(), [CANARY])).toBe(!isListed);
    // A link to the page of the document.
    const { url } = (await post(reader, `/v2/buckets/${name}/search`, { query: CANARY })).body.results[0].citation;
    const page = async () => (await fetch(url)).text();
    expect(await page()).toContain(CANARY);

    await CHANGES[change]?.(ids.document, ids.bucket);

    for (const route of showing) {
      const answer = await send(test, route, reader, ids);
      const own = textOf(answer).replaceAll(ids.document, route.path.includes(':document') ? '' : ids.document);
      expect([route.operationId, traces.some((trace) => own.includes(trace))]).toEqual([route.operationId, false]);
    }
    expect([shown(await history()), shown(await run()), shown(await kept())]).toEqual([false, false, false]);
    const gone = await fetched();
    expect([gone.isError, toolTextOf(gone).includes(CANARY)]).toEqual([true, false]);
    expect(shown(await answered(), [CANARY])).toBe(false);
    expect(await page()).not.toContain(CANARY);
  });
});

it.each([
  ['its key is revoked', (id: string) => test.call('DELETE', `/v1/keys/${id}`, { key: owner })],
  [
    'its key leaves a group',
    (id: string) => test.call('PATCH', '/v1/groups/streamers', { key: owner, json: { remove: [`key:${id}`] } }),
  ],
])('a stream of events ends within a second after %s', async (_, change) => {
  const { body } = await post(owner, '/v1/keys', { name: 'short-lived', scopes: ['search'], auth_level: 1 });
  await post(owner, '/v1/groups', { name: 'streamers' });
  await test.call('PATCH', '/v1/groups/streamers', { key: owner, json: { add: [`key:${body.id}`] } });
  const stream = await fetch(`${test.api.url}/v1/events`, { headers: { Authorization: `Bearer ${body.key}` } });
  const read = stream.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  await read.read();
  expect((await change(body.id)).status).toBe(200);
  const changedMs = performance.now();
  while (!(await read.read()).done);
  // Half a second of the cache of credentials, half of the check, and what a busy machine adds.
  expect(performance.now() - changedMs).toBeLessThan(2_500);
});
