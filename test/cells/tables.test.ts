import { afterAll, beforeAll, expect, test } from 'vitest';
import { ENDED, MOVED, MOVED_LAST, OF_INSTALLATION } from '../../src/cells/tables.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const moved = [...MOVED, ...MOVED_LAST];

test('each table of the database moves with an organization, ends with its move, or belongs to the installation', async () => {
  const rows = await db.sql`
    SELECT relname::text AS name FROM pg_class
    WHERE relkind IN ('r', 'p') AND NOT relispartition AND relnamespace = current_schema()::regnamespace`;
  const named = [...moved.map(({ name }) => name), ...Object.keys(ENDED), ...OF_INSTALLATION];
  expect(named.toSorted()).toEqual(rows.map((row) => row['name'] as string).toSorted());
});

test('a table that moves comes after the tables that it refers to, and all of them move', async () => {
  const references = await db.sql`
    SELECT conrelid::regclass::text AS from_table, confrelid::regclass::text AS to_table FROM pg_constraint
    WHERE contype = 'f' AND connamespace = current_schema()::regnamespace AND conrelid <> confrelid`;
  const names = moved.map(({ name }) => name);
  const wrong = references
    .map((row) => [row['from_table'] as string, row['to_table'] as string] as const)
    .filter(([from, to]) => names.includes(from) && !(names.indexOf(to) < names.indexOf(from) && names.includes(to)));
  expect(wrong).toEqual([]);
});

test('every table with a column for the organization is one of an organization', async () => {
  const rows = await db.sql`
    SELECT relname::text AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
    WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
      AND attname = 'org_id'`;
  const ofOrganizations = [...moved.map(({ name }) => name), ...Object.keys(ENDED)];
  expect(rows.map((row) => row['name'] as string).filter((name) => !ofOrganizations.includes(name))).toEqual([]);
});

test('every encrypted column of a table that moves is encrypted anew', async () => {
  const rows = await db.sql`
    SELECT table_name AS table, column_name AS column FROM information_schema.columns
    WHERE table_schema = current_schema() AND data_type = 'bytea' AND column_name LIKE 'sealed%'`;
  const known = moved.flatMap(({ name, sealed }) => (sealed?.columns ?? []).map((column) => `${name}.${column}`));
  const all = rows.filter((row) => row['table'] !== 'vendors').map((row) => `${row['table']}.${row['column']}`);
  expect(known.toSorted()).toEqual(all.toSorted());
});

test('a table whose rows have a number of their own at each installation omits it', async () => {
  const rows = await db.sql`
    SELECT table_name AS table, column_name AS column FROM information_schema.columns
    WHERE table_schema = current_schema() AND is_identity = 'YES'`;
  const omitted = moved.flatMap(({ name, omitted: columns }) => (columns ?? []).map((column) => `${name}.${column}`));
  expect(omitted.toSorted()).toEqual(rows.map((row) => `${row['table']}.${row['column']}`).toSorted());
});
