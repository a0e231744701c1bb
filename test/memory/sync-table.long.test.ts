import { afterAll, beforeAll, expect, it } from 'vitest';
import { findSource } from '../../src/memory/sources.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { addSource, createSourceDatabase, type SourceDatabase, sync, syncWorker } from '../support/memory.ts';
import { checkWork, tablePlace } from './count-work.ts';

const NONE = { added: 0, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 };

let test: TestAppliance;
let source: SourceDatabase;
let worker: ReturnType<typeof syncWorker>;

beforeAll(async () => {
  source = await createSourceDatabase();
  test = await openTestAppliance({ sources: { crm: { type: 'postgres', url: source.url } } });
  worker = syncWorker(test);
  await worker.start();
});
afterAll(async () => {
  await worker.stop();
  await test.close();
  await source.drop();
});

/** Connect a table, whose rows are documents by the columns `title` and `body`. */
async function add(table: string, config: Record<string, unknown> = {}, connection = 'crm'): Promise<string> {
  const text = '{{title}}\n\n{{body}}';
  return (await addSource(test, { name: `${table}-${connection}`, connection, config: { table, text, ...config } })).id;
}

async function documentsOf(id: string) {
  return test.appliance
    .sql`SELECT * FROM documents WHERE source_id = ${id} AND status <> 'deleting' ORDER BY file_name`;
}

it('a second synchronisation of a table does exactly the work of what changed', async () => {
  const { sql } = source;
  await sql`CREATE TABLE articles (id int PRIMARY KEY, title text, body text, seen timestamptz)`;
  const config = { table: 'articles', text: '{{title}}: {{body}}' };
  const sizes = { entries: 100, changed: 10, removed: 5, added: 5 };
  await checkWork(test, { name: 'articles', connection: 'crm', config }, tablePlace(sql, 'articles'), sizes);
  const { id } = await findSource(test.appliance.sql, test.operator, 'articles');
  // A column that no document is made of.
  await sql`UPDATE articles SET seen = now()`;
  expect((await sync(test, id)).counts).toEqual({ ...NONE, unchanged: 100 });
});

it('a row is a document with the keys of its source, which no caller can write', async () => {
  const { sql } = source;
  await sql`CREATE TABLE notes (region text, no int, title text, body text, noted date, PRIMARY KEY (region, no))`;
  await sql`INSERT INTO notes VALUES ('eu/north', 7, 'On tides', 'High at noon.', '2024-05-06'), ('us', 1, NULL, 'x', NULL)`;
  const id = await add('notes', { title: 'title', event_time: 'noted' });
  expect((await sync(test, id)).counts).toEqual({ ...NONE, added: 2 });
  const [first, second] = await documentsOf(id);
  expect(first).toMatchObject({
    file_name: 'On tides.txt',
    source_path: null,
    event_time: new Date('2024-05-06T00:00:00Z'),
  });
  expect(second).toMatchObject({ file_name: 'notes-["us","1"].txt', event_time: null });
  const pk = '["eu/north","7"]';
  expect(first?.['metadata']).toEqual({
    ...{ source_kind: 'postgres', source_connection_id: id, source_row_id: pk },
    ...{ source_schema: 'public', source_table: 'notes', source_pk: pk },
    ...{ 'schift.vector_source_id': id, 'schift.source_schema': 'public' },
    ...{ 'schift.source_table': 'notes', 'schift.source_pk': pk },
  });
  const bytes = await test.appliance.objects.get(first?.['object_key'] as string);
  expect(Buffer.from(bytes).toString()).toBe('On tides\n\nHigh at noon.');
});

it('a source with updated_at reads only rows whose time changed, and follows removals', async () => {
  const { sql } = source;
  await sql`CREATE TABLE posts (id bigint PRIMARY KEY, title text, body text, changed timestamptz)`;
  await sql`INSERT INTO posts SELECT i, 'Post', 'Body ' || i, '2024-01-01' FROM generate_series(1, 20) AS i`;
  const id = await add('posts', { updated_at: 'changed' });
  await sync(test, id);
  await sql`UPDATE posts SET body = 'unseen' WHERE id = 1`;
  await sql`UPDATE posts SET body = 'seen', changed = now() WHERE id = 2`;
  await sql`DELETE FROM posts WHERE id = 3`;
  expect((await sync(test, id)).counts).toEqual({ ...NONE, changed: 1, removed: 1, unchanged: 18 });
});

it('a view is read by the columns that identify a row, within the conditions of the source', async () => {
  const { sql } = source;
  await sql`CREATE TABLE pages (id uuid PRIMARY KEY, title text, body text, live boolean, price numeric(6, 2))`;
  await sql`INSERT INTO pages SELECT gen_random_uuid(), 'Page', 'Body ' || i, i % 2 = 0, 1.5 FROM generate_series(1, 10) i`;
  await sql`CREATE VIEW "Live pages" AS SELECT * FROM pages`;
  const id = await add('Live pages', { key: ['id'], where: { live: true, price: 1.5 } });
  expect((await sync(test, id)).counts).toEqual({ ...NONE, added: 5 });
});

it('a row of 50 MB is reported and left out, and the other rows are synced', async () => {
  const { sql } = source;
  await sql`CREATE TABLE big (id int PRIMARY KEY, title text, body text)`;
  await sql`INSERT INTO big VALUES (1, 'small', 'x'), (2, 'large', repeat('harbour ', 6553600)), (3, 'small', 'y')`;
  const id = await add('big');
  expect(await sync(test, id)).toMatchObject({
    sync_state: 'idle',
    counts: { ...NONE, added: 2, failed: 1 },
    error_message: expect.stringMatching(/1 entry could not be read; row 2: it has 524\d{5} bytes/),
  });
});

it('a template that yields nothing for a row makes no document of it', async () => {
  const { sql } = source;
  await sql`CREATE TABLE blanks (id int PRIMARY KEY, title text, body text)`;
  await sql`INSERT INTO blanks VALUES (1, NULL, ' '), (2, 'x', NULL)`;
  const id = await add('blanks');
  expect(await sync(test, id)).toMatchObject({ sync_state: 'idle', counts: { ...NONE, added: 1 } });
});

it('a table that is missing, has no primary key, or lost a column is an error that keeps the documents', async () => {
  const { sql } = source;
  const failure = async (id: string) => {
    const { sync_state: state, error_message: message } = await sync(test, id);
    return `${state}: ${message}`;
  };
  expect(await failure(await add('nowhere'))).toBe('error: there is no table or view public.nowhere');
  await sql`CREATE TABLE keyless (title text, body text)`;
  expect(await failure(await add('keyless'))).toContain('has no primary key');
  await sql`CREATE TABLE losing (id int PRIMARY KEY, title text, body text)`;
  await sql`INSERT INTO losing VALUES (1, 'a', 'b')`;
  const id = await add('losing');
  await sync(test, id);
  await sql`ALTER TABLE losing DROP COLUMN body`;
  expect(await failure(id)).toBe('error: public.losing has no column body');
  await sql`DROP TABLE losing`;
  expect(await failure(id)).toBe('error: there is no table or view public.losing');
  expect(await documentsOf(id)).toHaveLength(1);
  await sql`CREATE TABLE hidden (id int PRIMARY KEY, title text, body text)`;
  await sql`REVOKE ALL ON hidden FROM PUBLIC, ${sql(new URL(source.url).username)}`;
  expect(await failure(await add('hidden'))).toContain('may not read');
  await sql`CREATE TABLE timeless (id int PRIMARY KEY, title text, body text)`;
  expect(await failure(await add('timeless', { event_time: 'title' }))).toContain('is not a date or timestamp');
});

it("superusers, the service's own database and missing settings are refused", async () => {
  const own = test.databaseUrl;
  const sources = {
    super: { type: 'postgres', url: source.superuserUrl },
    own: { type: 'postgres', url: own },
    wrong: { type: 'postgres', url: source.url.replace('windlass', 'capstan') },
  };
  const second = await openTestAppliance({ sources }, { beside: test });
  const failure = async (connection: string) => {
    const { id } = await addSource(second, { name: connection, connection, config: { table: 'x', text: '{{a}}' } });
    const own = syncWorker(second);
    await own.start();
    const { sync_state: state, error_message: message } = await sync(second, id);
    await own.stop();
    return `${state}: ${message}`;
  };
  await worker.stop();
  expect(await failure('super')).toContain('superuser');
  // The tests connect to their own database as a superuser, too.
  expect(await failure('own')).toContain('error: the connection');
  expect(await failure('wrong')).toMatch(/error: the database/);
  await second.close();
});

it.each([
  ['a template without a column', { text: 'nothing' }, 'config.text'],
  ['a template that is not closed', { text: '{{a} b' }, 'config.text'],
  ['an unknown setting', { text: '{{a}}', columns: ['a'] }, 'config'],
  ['a missing table', { table: undefined }, 'config.table'],
])('a configuration with %s is refused', async (_, config, param) => {
  const all = { table: 't', text: '{{a}}', ...config };
  await expect(addSource(test, { name: 'bad', connection: 'crm', config: all })).rejects.toMatchObject({
    status: 400,
    param,
  });
});
