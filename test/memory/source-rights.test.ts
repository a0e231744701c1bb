import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createSourceDatabase, makeFolder, type SourceDatabase } from '../support/memory.ts';
import { makeUserToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';

// Who may read the documents of a source: as the source is set, or as its rows tell.

const LONG_AGO = new Date('2024-03-01T12:00:00Z');
const root = makeFolder();
let database: SourceDatabase;
let test: TestApi;
let owner: string;
let ana: string;
let ben: string;

beforeAll(async () => {
  database = await createSourceDatabase();
  const sqlite = new DatabaseSync(path.join(root.folder, 'rows.db'));
  sqlite.exec(`CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT, who TEXT);
    INSERT INTO rows VALUES (1, 'The harbour of all.', '*'), (2, 'The harbour of legal.', '["group:Legal"]'),
      (3, 'The harbour of nobody.', NULL)`);
  sqlite.close();
  const sources = {
    docs: { type: 'folder', root: root.folder },
    crm: { type: 'postgres', url: database.url },
    lite: { type: 'sqlite', file: path.join(root.folder, 'rows.db') },
  };
  test = await openTestApi({ settings: { sources } });
  owner = await test.key({ scopes: [...SCOPES], authLevel: 10 });
  [ana, ben] = [
    await makeUserToken(test.appliance, { role: 'member' }),
    await makeUserToken(test.appliance, { role: 'member' }),
  ];
  await call('POST', '/v1/groups', { name: 'legal', claim: 'legal-claim', members: [await idOf(ana)] });
  // The credential of ana was looked up before, and is kept for half a second.
  await until(async () => (await me(ana)).groups.length === 1, { what: 'the group of ana' });
});
afterAll(async () => {
  await test.close();
  await database.drop();
  root.remove();
});

const call = async (method: string, at: string, json?: object, key = owner) => {
  const { status, body } = await test.call(method, at, { key, ...(json === undefined ? {} : { json }) });
  if (status >= 300) throw new Error(JSON.stringify(body));
  return body;
};
const me = (key: string) => call('GET', '/v1/me', undefined, key);
const idOf = async (key: string): Promise<string> => (await me(key)).user_id;
const emailOf = async (key: string): Promise<string> => (await me(key)).user.email;

async function add(name: string, fields: object): Promise<string> {
  await call('POST', '/v1/buckets', { name });
  const { id } = await call('POST', '/v1/memory/sources', { name, bucket: name, ...fields });
  await sync(id);
  return id;
}

async function sync(id: string): Promise<void> {
  await call('POST', `/v1/memory/sources/${id}/sync`, {});
  await until(
    async () => {
      const { sync_state: state } = await call('GET', `/v1/memory/sources/${id}`);
      const rows = await test.appliance.sql`
      SELECT 1 FROM documents WHERE source_id = ${id} AND (status NOT IN ('ready', 'deleting') OR content_pending)`;
      return state === 'idle' && rows.length === 0;
    },
    { withinMs: 60_000, what: 'the end of a synchronisation' },
  );
}

async function find(bucket: string, key: string): Promise<string[]> {
  const { results } = await call('POST', `/v2/buckets/${bucket}/search`, { query: 'harbour' }, key);
  return results.map(({ text }: { text: string }) => text.trim()).toSorted();
}

it('the documents of a source have its users and groups, also after a change of them', async () => {
  mkdirSync(path.join(root.folder, 'shelf'));
  writeFileSync(path.join(root.folder, 'shelf/a.txt'), 'The harbour of a.');
  utimesSync(path.join(root.folder, 'shelf/a.txt'), LONG_AGO, LONG_AGO);
  const config = { connection: 'docs', config: { path: 'shelf' } };
  const id = await add('shelf', { ...config, access: { groups: ['legal'] } });
  expect([await find('shelf', ana), await find('shelf', ben)]).toEqual([['The harbour of a.'], []]);
  const listed = JSON.stringify(await call('GET', '/v1/memory/sources', undefined, ben));
  expect(listed).not.toContain('shelf');
  expect((await call('GET', `/v1/memory/sources/${id}`, undefined, ana)).access).toEqual({
    users: [],
    groups: ['legal'],
  });
  await call('PATCH', `/v1/memory/sources/${id}`, { access: { users: [await emailOf(ben)], groups: null } });
  expect([await find('shelf', ana), await find('shelf', ben)]).toEqual([[], ['The harbour of a.']]);
  await call('PATCH', `/v1/memory/sources/${id}`, { access: null });
  expect(await find('shelf', ana)).toEqual(['The harbour of a.']);
});

it('rows tell who may read them, and a change of that embeds nothing', async () => {
  const { sql } = database;
  await sql`CREATE TABLE notes (id int PRIMARY KEY, body text, who text[])`;
  const rows = [
    [1, 'The harbour of ana.', [await emailOf(ana)]],
    [2, 'The harbour of the claim.', ['group:legal-claim', 'stranger@example.com']],
    [3, 'The harbour of strangers.', ['stranger@example.com', 'group:unknown']],
    [4, 'The harbour of all.', ['*']],
  ] as const;
  for (const [id, body, who] of rows) await sql`INSERT INTO notes VALUES (${id}, ${body}, ${sql.array([...who])})`;
  const config = { table: 'notes', text: '{{body}}', readers: 'who' };
  const id = await add('notes', { connection: 'crm', config, access: { users: [await emailOf(ben)] } });
  const [ofAna, ofClaim, ofStrangers, ofAll] = rows.map(([, body]) => body);
  expect([await find('notes', ana), await find('notes', ben)]).toEqual([[ofAll, ofAna, ofClaim], [ofAll]]);
  expect(await find('notes', owner)).toEqual([ofAll, ofAna, ofStrangers, ofClaim].toSorted());
  const jobs = async () => (await test.appliance.sql`SELECT 1 FROM jobs WHERE kind = 'ingest'`).length;
  const before = await jobs();
  await sql`UPDATE notes SET who = ${sql.array([await emailOf(ben)])} WHERE id IN (1, 3)`;
  await sync(id);
  expect([await find('notes', ana), await find('notes', ben)]).toEqual([
    [ofAll, ofClaim],
    [ofAll, ofAna, ofStrangers].toSorted(),
  ]);
  expect(await jobs()).toBe(before);
  // The access of the source is for entries that do not tell their readers.
  const seen = [await find('notes', ana), await find('notes', ben)];
  await call('PATCH', `/v1/memory/sources/${id}`, { access: { users: [await emailOf(ana), await emailOf(ben)] } });
  expect([await find('notes', ana), await find('notes', ben)]).toEqual(seen);
  await call('PATCH', `/v1/memory/sources/${id}`, { config: { ...config, readers: null } });
  expect([await find('notes', ana), await find('notes', ben)].map((found) => found.length)).toEqual([4, 4]);
});

it('readers that are set later come along for rows that did not change', async () => {
  const config = { table: 'rows', text: '{{body}}', updated_at: 'id' };
  const id = await add('rows', { connection: 'lite', config });
  expect(await find('rows', ben)).toHaveLength(3);
  await call('PATCH', `/v1/memory/sources/${id}`, { config: { ...config, readers: 'who' } });
  await sync(id);
  expect([await find('rows', ana), await find('rows', ben)]).toEqual([
    ['The harbour of all.', 'The harbour of legal.'],
    ['The harbour of all.'],
  ]);
});
