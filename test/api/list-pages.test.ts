import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
let key: string;
let foreign: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: [...SCOPES], authLevel: 10 });
  foreign = await test.key({ org: 'other', scopes: [...SCOPES], authLevel: 10 });
  await fill();
});
afterAll(() => test.close());

const NAMES = ['a', 'b & c', 'ㄱ', 'd', 'e=f', '🚉'];

/** Fill the lists with rows whose names are in no order. */
async function fill(): Promise<void> {
  const { sql } = test.appliance;
  const [bucket] = await sql`SELECT id, org_id FROM buckets WHERE name = 'default' AND org_id = (
    SELECT id FROM organizations WHERE name = 'default')`;
  const { id, org_id: orgId } = bucket as { id: string; org_id: string };
  for (const [n, name] of NAMES.entries()) {
    await sql`
      INSERT INTO buckets (id, org_id, name, policy)
      SELECT ${`bkt_${n}`}, ${orgId}, ${`list-${name}`}, policy FROM buckets WHERE id = ${id}`;
    await sql`INSERT INTO collections (id, org_id, bucket_id, name) VALUES (${`col_${n}`}, ${orgId}, ${id}, ${name})`;
    await sql`
      INSERT INTO sources (id, org_id, bucket_id, name, type, connection, config, tags, versions, privacy_level, created_by)
      VALUES (${`src_${n}`}, ${orgId}, ${id}, ${name}, 'folder', 'docs', '{}', '{}', 'keep', 1, 'test')`;
    await sql`
      INSERT INTO workflows (id, org_id, name, latest_version, created_by)
      VALUES (${`wfl_${n}`}, ${orgId}, ${name}, 0, 'test')`;
    await sql`
      INSERT INTO workflow_runs (id, org_id, workflow_id, version, mode, status, actor, auth_level, inputs)
      VALUES (${`run_${n}`}, ${orgId}, 'wfl_0', 1, 'live', 'completed', 'test', 1, '{}')`;
    await test.call('POST', '/v1/channels/configs', { key, json: { name, provider: 'other', config: { n } } });
  }
}

type Row = Record<string, unknown>;

/** Read a list to its end, two rows at a time. */
async function readAll(path: string, cursorOf: ((row: Row) => string) | null, by = key): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | null = null;
  do {
    const query = new URLSearchParams({ limit: '2', ...(cursor === null ? {} : { cursor }) });
    const { status, body } = await test.call('GET', `${path}?${query}`, { key: by });
    expect(status).toBe(200);
    const data: Row[] = cursorOf === null ? body.data : body;
    expect(data.length).toBeLessThanOrEqual(2);
    if (cursorOf === null) expect(body.has_more).toBe(body.next_cursor !== null);
    rows.push(...data);
    cursor = cursorOf === null ? body.next_cursor : data.length < 2 ? null : cursorOf(data[1] as Row);
  } while (cursor !== null);
  return rows;
}

const byName = (row: Row) => row['name'] as string;
const byId = (row: Row) => row['id'] as string;
const LISTS: readonly (readonly [list: string, path: string, cursorOf: ((row: Row) => string) | null])[] = [
  ['buckets', '/v1/buckets', null],
  ['collections', '/v1/buckets/default/collections', null],
  ['workflows', '/v1/workflows', null],
  ['runs', '/v1/workflows/wfl_0/runs', null],
  ['sources', '/v1/memory/sources', byName],
  ['channel configurations', '/v1/channels/configs', byId],
];

it.each(LISTS)('the pages of %s have every row once, in the order of the whole list', async (_, path, cursorOf) => {
  const { body } = await test.call('GET', path, { key });
  const whole = cursorOf === null ? body.data : body;
  expect(whole.length).toBeGreaterThanOrEqual(NAMES.length);
  expect(await readAll(path, cursorOf)).toEqual(whole);
});

it.each(LISTS)('a cursor of %s shows another organization nothing of this one', async (_, path, cursorOf) => {
  const { body } = await test.call('GET', `${path}?limit=1`, { key });
  const cursor = cursorOf === null ? body.next_cursor : cursorOf(body[0]);
  const shown = await test.call('GET', `${path}?${new URLSearchParams({ cursor })}`, { key: foreign });
  // The workflow itself is not there for others.
  if (path.endsWith('/runs')) expect(shown.status).toBe(404);
  else expect(JSON.stringify(shown.body)).not.toMatch(/list-|"name":"(?!default)/);
});

it('a cursor of jobs that is no id of a job is refused with words that say what it is', async () => {
  const { status, body } = await test.call('GET', '/v1/jobs?cursor=zzz', { key });
  expect([status, body.detail]).toEqual([
    400,
    expect.stringContaining('must be the id of the last job of the previous page'),
  ]);
});

it('a page goes on after its cursor when the row of the cursor is deleted meanwhile', async () => {
  const { sql } = test.appliance;
  const first = await test.call('GET', '/v1/buckets?limit=3', { key });
  const configs = await test.call('GET', '/v1/channels/configs?limit=3', { key });
  const [, , third] = first.body.data;
  const following = await test.call('GET', `/v1/buckets?cursor=${first.body.next_cursor}`, { key });
  await sql`DELETE FROM buckets WHERE id = ${third.id}`;
  const again = await test.call('GET', `/v1/buckets?cursor=${first.body.next_cursor}`, { key });
  expect(again.body).toEqual(following.body);
  const [, , config] = configs.body;
  await test.call('DELETE', `/v1/channels/configs/${config.id}`, { key });
  const rest = await test.call('GET', `/v1/channels/configs?cursor=${config.id}`, { key });
  expect(rest.body.map(byName)).toEqual(NAMES.slice(3));
});

it.each(['a', 'AA', '%00', 'not a cursor', '_w', `${'a'.repeat(1025)}`])(
  'the cursor %j of names is refused',
  async (cursor) => {
    for (const path of ['/v1/buckets', '/v1/buckets/default/collections', '/v1/workflows']) {
      const { status, body } = await test.call('GET', `${path}?cursor=${encodeURIComponent(cursor)}`, { key });
      expect([status, body.detail]).toEqual([400, expect.stringContaining('cursor')]);
    }
  },
);

it.each(['0', '-1', '1001', 'many'])('the limit %s is refused', async (limit) => {
  for (const [, path] of LISTS) {
    const { status, body } = await test.call('GET', `${path}?limit=${limit}`, { key });
    expect([status, body.detail]).toEqual([400, expect.stringContaining('limit')]);
  }
});
