import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestAppliance, type TestAppliance } from '../../support/appliance.ts';
import { mariaDbAvailable, startMariaDb } from '../../support/mariadb.ts';
import { addSource, makeFolder, sync, syncWorker } from '../../support/memory.ts';
import { checkReader } from './conformance.ts';
import { openMysqlPlace } from './places/mysql-place.ts';
import { openSqlitePlace } from './places/sqlite-place.ts';

if (mariaDbAvailable()) checkReader('tables of MariaDB', openMysqlPlace);
checkReader('tables of SQLite', openSqlitePlace);

const NONE = { added: 0, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 };

async function open(sources: Record<string, unknown>): Promise<TestAppliance> {
  const test = await openTestAppliance({ sources });
  const worker = syncWorker(test);
  await worker.start();
  onTestFinished(async () => {
    await worker.stop();
    await test.close();
  });
  return test;
}

/** Connect a table and synchronise it. @returns counts, or the reason of the failure */
async function read(test: TestAppliance, connection: string, config: Record<string, unknown>) {
  const { id } = await addSource(test, { name: `${connection}-${config['table']}`, connection, config });
  const { sync_state: state, counts, error_message: message } = await sync(test, id);
  return { id, state, counts, message };
}

describe.skipIf(!mariaDbAvailable())('tables of MariaDB', () => {
  it('are read by keys of several columns, within conditions, by a user that may only read', async () => {
    const { admin, url, administratorUrl, stop } = await startMariaDb();
    onTestFinished(stop);
    const wrong = url.replace('windlass', 'capstan');
    const place = { type: 'mysql', url };
    const test = await open({
      shop: place,
      root: { ...place, url: administratorUrl },
      wrong: { ...place, url: wrong },
    });
    await admin.query(
      'CREATE TABLE notes (region varchar(20), no bigint, title text, body longtext, live boolean, noted date, PRIMARY KEY (region, no))',
    );
    for (let no = 0; no < 2_500; no++) {
      const row = ['eu', 9_007_199_254_740_993n + BigInt(no), 'On tides', `High at ${no}.`, no % 2 === 0, '2024-05-06'];
      await admin.execute(
        'INSERT INTO notes VALUES (?, ?, ?, ?, ?, ?)',
        row.map((value) => String(value === true ? 1 : value === false ? 0 : value)),
      );
    }
    const config = {
      table: 'notes',
      text: '{{title}}: {{body}}',
      title: 'title',
      event_time: 'noted',
      where: { live: 1 },
    };
    const { id, counts } = await read(test, 'shop', config);
    expect(counts).toEqual({ ...NONE, added: 1_250 });
    const { sql } = test.appliance;
    const [document] =
      await sql`SELECT * FROM documents WHERE source_id = ${id} ORDER BY metadata ->> 'source_pk' LIMIT 1`;
    expect(document).toMatchObject({
      ...{ file_name: 'On tides.txt', event_time: new Date('2024-05-06T00:00:00Z') },
      metadata: { source_kind: 'mysql', source_schema: 'shop', source_pk: '["eu","9007199254740993"]' },
    });
    const failure = async (connection: string, table: string, more = {}) => {
      const { state, message } = await read(test, connection, { table, text: '{{body}}', ...more });
      return `${state}: ${message}`;
    };
    expect(await failure('root', 'notes')).toContain('logs in as an administrator');
    expect(await failure('wrong', 'notes')).toMatch(/refuses the login .*reader.*; check user and password/);
    expect(await failure('wrong', 'other')).not.toContain('capstan');
    expect(await failure('shop', 'nowhere')).toBe('error: there is no table or view shop.nowhere');
    await admin.query('CREATE TABLE keyless (body text)');
    expect(await failure('shop', 'keyless')).toContain('has no primary key');
    await admin.query('CREATE VIEW `Live notes` AS SELECT no, body FROM notes WHERE no < 9007199254740998');
    expect(await read(test, 'shop', { table: 'Live notes', text: '{{body}}', key: ['no'] })).toMatchObject({
      counts: { added: 5 },
    });
    await admin.query('CREATE TABLE big (id int PRIMARY KEY, body longtext)');
    await admin.query("INSERT INTO big VALUES (1, 'small'), (2, repeat('harbour ', 2200000))");
    expect(await failure('shop', 'big')).toMatch(/1 entry could not be read; row 2: it has 17600000 bytes/);
  });
});

describe('tables of SQLite', () => {
  it('are read by keys of several types, within conditions, and only below the allowed folders', async () => {
    const { folder, remove } = makeFolder();
    onTestFinished(remove);
    const file = path.join(folder, 'notes.db');
    const database = new DatabaseSync(file);
    onTestFinished(() => database.close());
    database.exec(`CREATE TABLE notes (no INTEGER PRIMARY KEY, body TEXT, live BOOLEAN, noted INTEGER);
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
      INSERT INTO notes SELECT i, 'High at ' || i || '.', i % 2, 1715000000 FROM n;`);
    const missing = path.join(folder, 'missing.db');
    const test = await open({ notes: { type: 'sqlite', file }, missing: { type: 'sqlite', file: missing } });
    const config = { table: 'notes', text: '{{body}}', event_time: 'noted', where: { live: true } };
    const { id, counts } = await read(test, 'notes', config);
    expect(counts).toEqual({ ...NONE, added: 1_250 });
    const { sql } = test.appliance;
    const [document] = await sql`SELECT event_time, metadata FROM documents WHERE source_id = ${id} LIMIT 1`;
    expect(document).toMatchObject({ event_time: new Date(1_715_000_000_000), metadata: { source_kind: 'sqlite' } });
    database.exec("UPDATE notes SET body = 'changed' WHERE no = 1; DELETE FROM notes WHERE no = 3");
    expect((await sync(test, id)).counts).toEqual({ ...NONE, changed: 1, removed: 1, unchanged: 1_248 });
    const failure = async (connection: string, table: string) => {
      const { state, message } = await read(test, connection, { table, text: '{{body}}' });
      return `${state}: ${message}`;
    };
    expect(await failure('missing', 'notes')).toContain('check that it is a file of SQLite');
    expect(await failure('notes', 'nowhere')).toBe('error: there is no table or view main.nowhere');
    database.exec('CREATE TABLE keyless (body TEXT)');
    expect(await failure('notes', 'keyless')).toContain('has no primary key');
  });

  it('outside of the allowed folders keep the service from starting', async () => {
    const outside = { sources: { own: { type: 'sqlite', file: '/etc/notes.db' } }, source_roots: ['/srv'] };
    await expect(openTestAppliance(outside)).rejects.toThrow(/sources\.own\.file.*source_roots/);
  });
});
