import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, deliver, freshUser } from '../support/channels.ts';
import { until } from '../support/until.ts';

// What is kept of searches at each level, who reads it, and when it ends.

const LOG = '/v1/search/log';
/** Word of queries that no document and no setting has. */
const CANARY = 'quokkaphone';

let api: TestApi;
/** Second process, whose operator allows counts at most. */
let strict: TestApi;
let admin: string;
let member: string;
let pump: string;

beforeAll(async () => {
  api = await openTestApi();
  strict = await openTestApi({ worker: false, beside: api, settings: { search: { log_max: 'counts' } } });
  admin = await api.key({ scopes: ['search', 'documents:write', 'users:manage', 'channels:manage'], authLevel: 5 });
  member = await api.key({ scopes: ['search'] });
  pump = await upload({ filename: 'pump.txt', text: 'The pump is greased every three months.' });
});
afterAll(async () => {
  await strict.close();
  await api.close();
});

async function upload(json: object): Promise<string> {
  const { body } = await api.call('POST', '/v1/buckets/default/documents', { key: admin, json });
  await until(async () => (await api.call('GET', `/v1/documents/${body.id}`, { key: admin })).body.status === 'ready', {
    what: 'ingest',
    withinMs: 60_000,
  });
  return body.id;
}

async function search(
  query: string,
  { key = member, of = api, ...json }: { key?: string; of?: TestApi; mode?: string } = {},
) {
  const { status, body } = await of.call('POST', '/v2/buckets/default/search', { key, json: { query, ...json } });
  expect(status).toBe(200);
  return body;
}

const setLevel = (level: string | null, key = admin, of = api) =>
  of.call('PUT', `${LOG}/level`, { key, json: { level } });
const list = async (query = '', key = admin, of = api) => (await of.call('GET', `${LOG}${query}`, { key })).body.data;
const counts = async () => api.appliance.sql`SELECT sum(searches)::int AS n FROM search_counts`;
const sweep = async (of = api) => {
  for (const chore of of.appliance.insight.chores(60_000)) {
    if (chore.name.includes('of the log')) await chore.run(new AbortController().signal);
  }
};

async function rowsWith(text: string): Promise<string[]> {
  const { sql } = api.appliance;
  const tables = await sql<{ name: string }[]>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`;
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await sql`SELECT 1 FROM ${sql(name)} t WHERE strpos(to_jsonb(t)::text, ${text}) > 0`;
    if (rows.length > 0) found.push(name);
  }
  return found;
}

test('by default searches are counted, and no table has what was asked', async () => {
  expect(await search(`${CANARY} one`)).toMatchObject({ search_id: null });
  await search('how often is the pump greased?');
  const { body } = await api.call('GET', `${LOG}/summary`, { key: admin });
  expect(body).toMatchObject({
    level: { level: 'counts', chosen: null, level_max: 'queries', retention_days: 30 },
    by_day: [{ searches: 2, unanswered: 1 }],
    ...{ top: [], unanswered: [], slow: [], askers: [] },
  });
  expect(await rowsWith(CANARY)).toEqual([]);
});

test('an organization that turns the log off keeps nothing', async () => {
  expect((await setLevel('off')).body).toMatchObject({ level: 'off', chosen: 'off' });
  await api.appliance.insight.log.flush();
  const before = await counts();
  for (const process of [api, strict]) {
    expect(await search(`${CANARY} two`, { of: process })).toMatchObject({ search_id: null });
    await process.appliance.insight.log.flush();
  }
  expect(await counts()).toEqual(before);
  expect(await rowsWith(CANARY)).toEqual([]);
  const rows = await api.appliance.sql`SELECT detail FROM audit_log WHERE action = 'organization.search_log'`;
  expect(rows.map(({ detail }) => detail)).toEqual([{ before: null, after: 'off' }]);
});

test('an organization cannot choose more than the operator allows', async () => {
  const refused = await setLevel('queries', admin, strict);
  expect([refused.status, refused.body.detail]).toEqual([
    409,
    'the highest level that the operator allows is "counts" (search.log_max in service.yaml)',
  ]);
  await setLevel('queries');
  expect((await strict.call('GET', `${LOG}/level`, { key: admin })).body).toMatchObject({
    ...{ level: 'counts', chosen: 'queries', level_max: 'counts' },
  });
  await search(`${CANARY} three`, { of: strict });
  await strict.appliance.insight.log.flush();
  expect(await rowsWith(CANARY)).toEqual([]);
  expect(await list('', admin, strict)).toEqual([]);
});

test('the log has what was asked, by which kind of caller, what was found, opened and helpful', async () => {
  const found = await search('how often is   the\npump greased?');
  expect(found.search_id).toMatch(/^srch_/);
  const opened = await api.call('GET', `/v1/documents/${pump}?search=${found.search_id}`, { key: member });
  expect(opened.status).toBe(200);
  const feedback = { helpful: true, chunk_id: found.results[0].id };
  const given = await api.call('POST', `${LOG}/${found.search_id}/feedback`, { key: member, json: feedback });
  expect(given.status).toBe(204);
  const nothing = await search(CANARY, { mode: 'keyword' });
  const entries = await until(
    async () => {
      const all = await list();
      return all[1]?.opened.length > 0 && all[1]?.helpful !== null ? all : null;
    },
    { what: 'notes in the log' },
  );
  expect(entries).toMatchObject([
    { id: nothing.search_id, query: CANARY, mode: 'keyword', results: 0, opened: [], helpful: null },
    {
      id: found.search_id,
      query: 'how often is the pump greased?',
      bucket_ids: [found.bucket_id],
      ...{ asked_by: 'key', mode: 'hybrid', results: found.results.length, relevance: found.relevance },
      ...{ opened: [{ id: pump, file_name: 'pump.txt' }], helpful: true, chunk_id: found.results[0].id },
    },
  ]);
  expect(entries[1].request_id).toEqual(expect.any(String));
  const replaced = { helpful: false };
  await api.call('POST', `${LOG}/${found.search_id}/feedback`, { key: member, json: replaced });
  expect((await list())[1]).toMatchObject({ helpful: false, chunk_id: null });
  const [row] = await api.appliance
    .sql`SELECT to_jsonb(l)::text AS row FROM search_log l WHERE id = ${found.search_id}`;
  expect(row?.['row']).not.toMatch(/key_|usr_|actor/);
});

test('searches of several buckets, and links of results, carry the id of the search', async () => {
  const json = { query: 'pump', buckets: ['default'] };
  const { body } = await api.call('POST', '/v2/search', { key: member, json });
  expect(body.search_id).toMatch(/^srch_/);
  expect(body.results[0].citation.url).toContain(`/console/documents/${pump}?search=${body.search_id}#0`);
});

test('the log is filtered and read page by page', async () => {
  await search('PUMP and valve');
  const all = await list();
  const first = (await api.call('GET', `${LOG}?limit=1`, { key: admin })).body;
  const second = (await api.call('GET', `${LOG}?limit=1&cursor=${first.next_cursor}`, { key: admin })).body;
  expect([...first.data, ...second.data]).toEqual(all.slice(0, 2));
  expect((await list('?contains=pump%20AND')).map(({ query }: { query: string }) => query)).toEqual(['PUMP and valve']);
  expect((await list('?unanswered=true')).map(({ query }: { query: string }) => query)).toEqual([CANARY]);
  expect(await list('?min_ms=3600000')).toEqual([]);
  expect(await list('?since=2999-01-01T00:00:00Z')).toEqual([]);
  expect(await list('?bucket=default')).toEqual(all);
  for (const wrong of ['unanswered=perhaps', 'since=yesterday', 'min_ms=-1', 'contains=', 'contains=%00', 'limit=0']) {
    expect([wrong, (await api.call('GET', `${LOG}?${wrong}`, { key: admin })).status]).toEqual([wrong, 400]);
  }
  expect(await list('?cursor=srch_missing')).toEqual([]);
  expect((await api.call('GET', `${LOG}?bucket=nothing`, { key: admin })).status).toBe(404);
});

test('the summary has the queries that were asked most, had no answer, or were slow', async () => {
  await search(CANARY.toUpperCase(), { mode: 'keyword' });
  const { body } = await api.call('GET', `${LOG}/summary?days=7`, { key: admin });
  expect(body.unanswered).toMatchObject([
    { query: CANARY.toUpperCase(), searches: 2, unanswered: 2, bucket_ids: [expect.any(String)] },
  ]);
  expect(body.top[0]).toMatchObject({ query: CANARY.toUpperCase(), searches: 2 });
  expect(body.slow.map(({ took_ms: ms }: { took_ms: number }) => ms)).toEqual(
    body.slow.map(({ took_ms: ms }: { took_ms: number }) => ms).toSorted((a: number, b: number) => b - a),
  );
  expect(body).toMatchObject({ askers: [{ asked_by: 'key', searches: 5 }], helpful: 0, not_helpful: 1 });
  expect(body.by_day[0]).toMatchObject({ mean_ms: expect.any(Number), slow: expect.any(Number) });
});

test('the log is exported as NDJSON and as CSV without formulas', async () => {
  await search('=HYPERLINK("x"), pump');
  const entries = await list();
  const ndjson = await api.call('GET', `${LOG}/export`, { key: admin });
  expect(ndjson.headers.get('content-type')).toBe('application/x-ndjson');
  expect(
    (ndjson.body as string)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(entries);
  const csv = await api.call('GET', `${LOG}/export?format=csv&contains=HYPERLINK`, { key: admin });
  const [head, line] = (csv.body as string).split('\r\n');
  expect(head).toBe(
    'id,asked_at,query,bucket_ids,asked_by,mode,took_ms,results,relevance,opened,helpful,chunk_id,request_id',
  );
  expect(line).toContain(`,"'=HYPERLINK(""x""), pump",`);
});

test('only those who manage people read the log, each that of their organization, and no hidden document', async () => {
  for (const path of [LOG, `${LOG}/summary`, `${LOG}/export`, `${LOG}/level`, '/v1/search/judgements?bucket=default']) {
    expect([path, (await api.call('GET', path, { key: member })).status]).toEqual([path, 403]);
  }
  expect((await setLevel('off', member)).status).toBe(403);
  const foreign = await api.key({ org: 'foreign', scopes: ['users:manage', 'search'] });
  await setLevel('queries', foreign);
  expect(await list('', foreign)).toEqual([]);
  const summary = (await api.call('GET', `${LOG}/summary`, { key: foreign })).body;
  expect(summary).toMatchObject({ by_day: [], top: [], unanswered: [], slow: [] });
  const own = await search('pump');
  for (const id of [own.search_id, 'srch_missing']) {
    const json = { helpful: true };
    await api.appliance.insight.log.flush();
    expect((await api.call('POST', `${LOG}/srch_missing/feedback`, { key: foreign, json })).status).toBe(404);
    await api.call('POST', `${LOG}/${id}/feedback`, { key: foreign, json });
  }
  expect((await list('?contains=pump')).filter(({ helpful }: { helpful: boolean }) => helpful)).toEqual([]);
  const secret = await upload({ filename: 'secret.txt', text: 'The pump code is 1234.', privacy_level: 4 });
  await api.call('GET', `/v1/documents/${secret}?search=${own.search_id}`, { key: admin });
  const openedBy = async (key: string) =>
    (await list('', key)).find(({ id }: { id: string }) => id === own.search_id)?.opened;
  await until(async () => (await openedBy(admin))?.length === 1, { what: 'the opened document' });
  expect(await openedBy(await api.key({ scopes: ['users:manage', 'search'], authLevel: 2 }))).toEqual([]);
  expect(await openedBy(await api.key({ scopes: ['users:manage'], authLevel: 5 }))).toEqual([]);
});

test('a key that is limited to some buckets cannot read the log', async () => {
  const owner = await api.key({ scopes: ['users:manage', 'keys:manage', 'search'] });
  const json = { name: 'limited', scopes: ['users:manage'], limits: { buckets: ['default'] } };
  expect((await api.call('POST', '/v1/keys', { key: owner, json })).status).toBe(400);
});

test('a query is judged, exported as judged pairs, and forgotten when its judgement is removed', async () => {
  const { search_id: id } = await search('When is the pump serviced?');
  const judge = (json: object, key = admin, of = id) => api.call('POST', `${LOG}/${of}/judgement`, { key, json });
  expect((await judge({ document_id: pump, grade: 3 })).body).toMatchObject({
    ...{ query: 'When is the pump serviced?', document_id: pump, grade: 3 },
  });
  const exported = async () => (await api.call('GET', '/v1/search/judgements?bucket=default', { key: admin })).body;
  expect(await exported()).toBe(
    `${JSON.stringify({ query: 'When is the pump serviced?', relevant: { [pump]: 3 } })}\n`,
  );
  expect((await judge({ document_id: 'doc_missing', grade: 1 })).status).toBe(404);
  expect((await judge({ document_id: pump, grade: 1 }, admin, 'srch_missing')).status).toBe(404);
  expect((await judge({ document_id: pump, grade: 4 })).status).toBe(400);
  expect((await judge({ document_id: `${pump}\0`, grade: 3 })).status).toBe(400);
  expect((await judge({ document_id: pump, grade: 1 }, member)).status).toBe(403);
  await judge({ document_id: pump, grade: 0 });
  expect(await exported()).toBe('');
  await judge({ document_id: pump, grade: null });
  expect(await api.appliance.sql`SELECT 1 FROM search_judgements`).toHaveLength(0);
});

test('questions to a messenger are not kept unless the operator keeps the questions of messengers', async () => {
  await createConfig(api, admin);
  await deliver(api, { utterance: `is there a ${CANARY} on the pump?`, user_id: freshUser() });
  expect(await list('?contains=on%20the')).toEqual([]);
});

test('queries end with their retention, and with the level of their organization', async () => {
  const { sql } = api.appliance;
  const ids = (await list('?limit=2')).map(({ id }: { id: string }) => id);
  await sql`UPDATE search_log SET asked_at = now() - interval '29 days' WHERE id = ${ids[0]}`;
  await sql`UPDATE search_log SET asked_at = now() - interval '31 days' WHERE id = ${ids[1]}`;
  const idsNow = async () => (await list('?limit=200')).map(({ id }: { id: string }) => id);
  expect(await idsNow()).not.toContain(ids[1]);
  await sweep();
  expect(await sql`SELECT id FROM search_log WHERE id = ANY(${sql.array(ids)}::text[])`).toEqual([{ id: ids[0] }]);
  await setLevel('counts');
  expect(await idsNow()).toEqual([]);
  await sweep();
  expect(await rowsWith(CANARY)).toEqual([]);
});

test('a process that stops writes every search to the log', async () => {
  await setLevel('queries');
  const other = await openTestApi({ worker: false, beside: api });
  const asked = await Promise.all(Array.from({ length: 20 }, (_, n) => search(`last words ${n}`, { of: other })));
  expect(asked.every(({ search_id: id }) => id !== null)).toBe(true);
  await other.close();
  expect(await list('?contains=last%20words')).toHaveLength(20);
});
