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

const JOBS = 'only jobs and chores do this: jobs stop for the move, and what a chore removes, the target removes, too';
const STARTED = 'the API refuses it, also after a slow body has arrived; it changes neither rights nor secrets';
const NEVER = 'the service never does this';
const WITH_PARENT = 'only with the row that it refers to, which is refused, or which a job or chore changes';

/** Changes of rows that move which the database doesn't refuse while the organization moves, with the reason. */
const NOT_REFUSED: Readonly<Record<string, Readonly<Partial<Record<'INSERT' | 'UPDATE' | 'DELETE', string>>>>> = {
  organizations: { INSERT: NEVER, UPDATE: 'its commands read the state under a lock', DELETE: NEVER },
  api_keys: { DELETE: 'only ended keys, when a key is created' },
  revoked_tokens: {
    INSERT: 'the source signed the tokens, and they end with the move',
    UPDATE: NEVER,
    DELETE: 'only ended tokens',
  },
  buckets: { DELETE: JOBS },
  documents: { DELETE: JOBS },
  generations: { INSERT: JOBS, UPDATE: JOBS, DELETE: JOBS },
  index_tables: { INSERT: JOBS, UPDATE: JOBS, DELETE: JOBS },
  jobs: { UPDATE: STARTED, DELETE: JOBS },
  bulk_jobs: { INSERT: WITH_PARENT, UPDATE: JOBS, DELETE: WITH_PARENT },
  bulk_chunks: { INSERT: JOBS, UPDATE: JOBS, DELETE: WITH_PARENT },
  files: { UPDATE: NEVER },
  batches: { UPDATE: STARTED, DELETE: JOBS },
  batch_groups: { INSERT: JOBS, UPDATE: JOBS, DELETE: WITH_PARENT },
  batch_chunks: { INSERT: JOBS, UPDATE: JOBS, DELETE: WITH_PARENT },
  vector_stores: { INSERT: WITH_PARENT, UPDATE: STARTED, DELETE: WITH_PARENT },
  vector_store_files: { INSERT: STARTED, UPDATE: STARTED, DELETE: JOBS },
  vector_store_batches: { INSERT: STARTED, UPDATE: STARTED, DELETE: WITH_PARENT },
  source_entries: { INSERT: JOBS, UPDATE: JOBS, DELETE: JOBS },
  source_states: { INSERT: JOBS, UPDATE: JOBS, DELETE: JOBS },
  source_faults: { INSERT: JOBS, UPDATE: JOBS, DELETE: JOBS },
  usage_reservations: { INSERT: WITH_PARENT, UPDATE: JOBS, DELETE: JOBS },
  workflow_versions: { INSERT: WITH_PARENT, UPDATE: WITH_PARENT, DELETE: WITH_PARENT },
  workflow_runs: { UPDATE: STARTED, DELETE: JOBS },
  workflow_run_blocks: { INSERT: JOBS, UPDATE: JOBS, DELETE: WITH_PARENT },
  workflow_starts: { UPDATE: JOBS, DELETE: JOBS },
  audit_log: { INSERT: 'what is recorded during the move stays at the source', UPDATE: NEVER, DELETE: JOBS },
};

test('while an organization moves, the database refuses each change of a table that moves, or a reason says why not', async () => {
  const rows = await db.sql`
    SELECT event_object_table AS table, event_manipulation AS event FROM information_schema.triggers
    WHERE trigger_schema = current_schema() AND action_timing = 'BEFORE' AND action_statement LIKE '%while_moving()'`;
  const refused = new Set(rows.map((row) => `${row['event']} ${row['table']}`));
  const open = MOVED.flatMap(({ name }) =>
    ['INSERT', 'UPDATE', 'DELETE']
      .filter((event) => !refused.has(`${event} ${name}`))
      .map((event) => `${event} ${name}`),
  );
  const reasoned = Object.entries(NOT_REFUSED).flatMap(([table, events]) =>
    Object.keys(events).map((event) => `${event} ${table}`),
  );
  expect(open.toSorted()).toEqual(reasoned.toSorted());
});

test('rights and secrets of a moving organization do not change, and rows of a moved one can be deleted', async () => {
  const { sql } = db;
  const bytes = Buffer.from('sealed');
  await sql`INSERT INTO organizations (id, name, plan) VALUES ('org_m', 'mover', 'free')`;
  await sql`INSERT INTO users (id, org_id, email, role, auth_level) VALUES ('usr_m', 'org_m', 'a@b.c', 'member', 1)`;
  await sql`INSERT INTO groups (org_id, name) VALUES ('org_m', 'readers')`;
  await sql`INSERT INTO group_members (org_id, group_name, member) VALUES ('org_m', 'readers', 'user:usr_m')`;
  await sql`
    INSERT INTO webhook_endpoints (id, org_id, name, url, events, sealed_secret)
    VALUES ('whk_m', 'org_m', 'ours', 'https://a.example', '{}', ${bytes})`;
  await sql`
    INSERT INTO files (id, org_id, purpose, file_name, size_bytes, object_key, expires_at)
    VALUES ('file_m', 'org_m', 'batch', 'a', 1, 'files/m', NULL), ('file_old', 'org_m', 'batch', 'a', 1, 'files/o', now())`;
  await sql`UPDATE organizations SET move_state = 'moving' WHERE id = 'org_m'`;
  const changes = [
    () => sql`DELETE FROM group_members WHERE org_id = 'org_m'`,
    () => sql`INSERT INTO group_members (org_id, group_name, member) VALUES ('org_m', 'readers', 'key:k')`,
    () => sql`DELETE FROM groups WHERE org_id = 'org_m'`,
    () => sql`UPDATE groups SET claim = 'x' WHERE org_id = 'org_m'`,
    () => sql`UPDATE users SET tokens_revoked_at = now() WHERE org_id = 'org_m'`,
    () => sql`UPDATE users SET deprovisioned_at = now() WHERE org_id = 'org_m'`,
    () => sql`DELETE FROM users WHERE org_id = 'org_m'`,
    () => sql`UPDATE webhook_endpoints SET sealed_secret = ${bytes} WHERE org_id = 'org_m'`,
    () => sql`DELETE FROM webhook_endpoints WHERE org_id = 'org_m'`,
    () => sql`DELETE FROM files WHERE id = 'file_m'`,
  ];
  for (const change of changes) await expect(change()).rejects.toMatchObject({ code: 'SVMOV' });
  await sql`UPDATE webhook_endpoints SET failing_since = now() WHERE org_id = 'org_m'`;
  await sql`DELETE FROM files WHERE id = 'file_old'`;
  await sql`UPDATE organizations SET move_state = 'moved' WHERE id = 'org_m'`;
  await sql`DELETE FROM group_members WHERE org_id = 'org_m'`;
  await sql`DELETE FROM organizations WHERE id = 'org_m'`;
  expect(await sql`SELECT 1 FROM users WHERE org_id = 'org_m'`).toEqual([]);
});
