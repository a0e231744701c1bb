import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { selectAuditRows } from '../../src/access/audit-store.ts';
import type { Caller } from '../../src/access/caller.ts';
import { selectApiKeys } from '../../src/access/key-store.ts';
import { selectOrganizations } from '../../src/access/organization-store.ts';
import { selectUsers } from '../../src/access/user-store.ts';
import { countDocuments } from '../../src/appliance/overview/overview-store.ts';
import { selectConfigs } from '../../src/channels/config-store.ts';
import { selectDeliveries } from '../../src/channels/delivery-store.ts';
import { selectNotifications } from '../../src/channels/notification-store.ts';
import { claimDue } from '../../src/channels/outbox-store.ts';
import { selectQuestions } from '../../src/channels/question-store.ts';
import { listVisibleJobs } from '../../src/documents/job-documents.ts';
import { listDocumentPage } from '../../src/documents/list-store.ts';
import { listBuckets, listCollections } from '../../src/documents/store.ts';
import { type SearchConditions, selectSearches, selectSlowest } from '../../src/insight/log/log-store.ts';
import { ListJobsQuery } from '../../src/jobs/schema.ts';
import { countFinished, countLive, listWatched } from '../../src/jobs/watch-store.ts';
import { listSourceRows } from '../../src/memory/source-store.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { selectUsageByActor, selectUsageRows } from '../../src/usage/report-store.ts';
import { listRunRows, selectRecentRuns } from '../../src/workflows/run-store.ts';
import { listWorkflowRows } from '../../src/workflows/store.ts';
import { makeKeyRing, makeOrg } from '../support/access.ts';
import { type FilledOrganization, fillLists, ROWS } from '../support/fill-lists.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

const PAGE_ROWS = 20;
/**
 * Rows of all tables that a query may read for each row of its page: the row, its job, hidden ones between, or those of the
 * other organizations where their rows are side by side. Reading all rows of one organization is above it by far.
 */
const ROWS_READ_FACTOR = 10;
/** Organizations whose rows alternate in all tables. */
const ORGANIZATIONS = 6;
/** Times that a query runs first, after which PostgreSQL may use one plan for all parameters. */
const WARM_UPS = 6;

let db: TestDatabase;
let operator: Caller;
let filled: FilledOrganization;
/** Organization with many channel configurations. */
let manyConfigs: FilledOrganization;

beforeAll(async () => {
  db = await createTestDatabase();
  const keyRing = makeKeyRing();
  const made: Awaited<ReturnType<typeof makeOrg>>[] = [];
  for (let n = 0; n < ORGANIZATIONS; n++) made.push(await makeOrg(db.sql, keyRing));
  operator = (made[0] as (typeof made)[0]).operator;
  const ids = made.map(({ org }) => org.id);
  [filled, manyConfigs] = (await fillLists(db.sql, ids)) as [FilledOrganization, FilledOrganization];
});
afterAll(() => db.drop());

/** Run a query and count the rows that it reads from tables. */
async function rowsReadBy(query: (sql: Sql) => Promise<unknown>): Promise<number> {
  return db.sql.begin(async (tx) => {
    // Rows that parallel workers read are not counted here.
    await tx`SET LOCAL max_parallel_workers_per_gather = 0`;
    // These tables are small, where the cost of a disk that has to seek would hide what happens in large ones.
    await tx`SET LOCAL random_page_cost = 1.1`;
    for (let times = 0; times < WARM_UPS; times++) await query(tx);
    const before = await readCounter(tx);
    await query(tx);
    return (await readCounter(tx)) - before;
  });
}

async function readCounter(sql: Sql): Promise<number> {
  const [row] = await sql`
    SELECT coalesce(sum(seq_tup_read) + sum(coalesce(idx_tup_fetch, 0)), 0)::int AS n FROM pg_stat_xact_user_tables`;
  return row?.['n'] as number;
}

const idOf = (prefix: string, digits: number, n: number) => prefix + String(n).padStart(digits, '0');
const reader = (): Caller => ({ ...operator, kind: 'api_key', role: null, scopes: new Set(), authLevel: 5 });
const within = () => ({ orgId: operator.orgId, visible: (sql: Sql) => sql`true` });

type Query = (sql: Sql) => Promise<readonly unknown[]>;
const documents =
  (caller: () => Caller, query: { status?: 'failed' | 'ready'; cursor?: string } = {}): Query =>
  async (sql) =>
    (await listDocumentPage(sql, caller(), filled.bucketId, query, PAGE_ROWS)).data;
const jobs =
  (query: Partial<ListJobsQuery>): Query =>
  (sql) =>
    listVisibleJobs(sql, operator, { ...ListJobsQuery.parse({}), limit: PAGE_ROWS, ...query });
const page = (after?: string) => ({ limit: PAGE_ROWS, after });
const middlePlace = (prefix: string) => idOf(prefix, 8, ROWS.places / 2);

const deliveries =
  (query: { after?: string; configId?: string } = {}): Query =>
  (sql) =>
    selectDeliveries(sql, filled.orgId, {
      ...{ limit: PAGE_ROWS, after: query.after },
      configId: query.configId && query.configId + filled.orgId,
    });
const questions =
  (query: { after?: string; configId?: string } = {}): Query =>
  (sql) =>
    selectQuestions(sql, filled.orgId, {
      ...{ limit: PAGE_ROWS, after: query.after },
      configId: query.configId && query.configId + filled.orgId,
    });
const searches =
  (conditions: SearchConditions, after?: string): Query =>
  (sql) =>
    selectSearches(sql, operator, conditions, { limit: PAGE_ROWS, after });
const digestOf = (n: number) => createHash('sha256').update(String(n)).digest('hex');

const middleDocument = idOf('doc_', 26, ROWS.documents / 2);
const middleJob = idOf('job_', 8, ROWS.jobs / 2);
const middlePerson = (prefix: string, digits: number) => idOf(prefix, digits, ROWS.people / 2);

const LISTS: readonly (readonly [name: string, query: Query])[] = [
  ['documents of a bucket', documents(() => operator)],
  ['documents of a bucket after a cursor', documents(() => operator, { cursor: middleDocument })],
  ['documents of a bucket in a rare state', documents(() => operator, { status: 'failed' })],
  ['documents of which the newest half is hidden', documents(reader)],
  ['ready documents of which the newest half is hidden', documents(reader, { status: 'ready' })],
  ['jobs', jobs({})],
  ['jobs after a cursor', jobs({ cursor: middleJob })],
  ['jobs in a rare state', jobs({ status: 'failed' })],
  ['jobs of a small bucket by its name', jobs({ bucket_id: 'small' })],
  ['jobs of a bucket by its name', jobs({ bucket_id: 'archive' })],
  ['jobs of a small bucket in a rare state', jobs({ bucket_id: 'small', status: 'failed' })],
  ['jobs of a document', jobs({ document_id: idOf('doc_', 26, 6) })],
  ['jobs that are watched', (sql) => listWatched(sql, within(), null, PAGE_ROWS)],
  ['failed jobs that are watched', (sql) => listWatched(sql, within(), 'failed', PAGE_ROWS)],
  ['keys', (sql) => selectApiKeys(sql, filled.orgId, page())],
  ['keys after a cursor', (sql) => selectApiKeys(sql, filled.orgId, page(middlePerson('k', 7)))],
  ['people', (sql) => selectUsers(sql, filled.orgId, page())],
  ['people after a cursor', (sql) => selectUsers(sql, filled.orgId, page(middlePerson('usr_', 8)))],
  ['organizations', (sql) => selectOrganizations(sql, page())],
  ['organizations after a cursor', (sql) => selectOrganizations(sql, page(middlePerson('org_', 8)))],
  ['notifications', (sql) => selectNotifications(sql, filled.orgId, { configId: null, rowsMax: PAGE_ROWS })],
  [
    'notifications after a cursor',
    (sql) =>
      selectNotifications(sql, filled.orgId, {
        ...{ configId: null, rowsMax: PAGE_ROWS },
        after: idOf('ntf_', 8, ROWS.records / 2),
      }),
  ],
  [
    'notifications of a configuration that sent few',
    (sql) => selectNotifications(sql, filled.orgId, { configId: `chc_rare_${filled.orgId}`, rowsMax: PAGE_ROWS }),
  ],
  ['deliveries', deliveries()],
  ['deliveries after a cursor', deliveries({ after: digestOf(ROWS.records / 2) })],
  ['deliveries of a configuration that received few', deliveries({ configId: `chc_rare_` })],
  ['unanswered questions', questions()],
  ['unanswered questions after a cursor', questions({ after: idOf('qst_', 8, ROWS.records / 2) })],
  ['unanswered questions of a configuration that got few', questions({ configId: `chc_rare_` })],
  ['searches of the log', searches({})],
  ['searches of the log after a cursor', searches({}, idOf('srch_', 8, ROWS.records / 2))],
  ['searches without an answer', searches({ unanswered: true })],
  ['slowest searches', (sql) => selectSlowest(sql, operator, {}, PAGE_ROWS)],
  ['buckets', (sql) => listBuckets(sql, operator, page())],
  ['buckets after a cursor', (sql) => listBuckets(sql, operator, page(middlePlace('bucket-')))],
  ['collections', (sql) => listCollections(sql, filled.orgId, filled.bucketId, page())],
  [
    'collections after a cursor',
    (sql) => listCollections(sql, filled.orgId, filled.bucketId, page(middlePlace('collection '))),
  ],
  ['sources', (sql) => listSourceRows(sql, operator, null, page())],
  ['sources after a cursor', (sql) => listSourceRows(sql, operator, null, page(middlePlace('source-')))],
  ['sources of a user', (sql) => listSourceRows(sql, reader(), 'usr_0', page())],
  ['workflows', (sql) => listWorkflowRows(sql, filled.orgId, page())],
  ['workflows after a cursor', (sql) => listWorkflowRows(sql, filled.orgId, page(middlePlace('workflow ')))],
  ['channel configurations', (sql) => selectConfigs(sql, manyConfigs.orgId, page())],
  ['channel configurations after a cursor', (sql) => selectConfigs(sql, manyConfigs.orgId, page(middlePlace('chn_')))],
  ['runs of a workflow', (sql) => listRunRows(sql, operator, filled.workflowId, page())],
  [
    'runs of a workflow after a cursor',
    (sql) => listRunRows(sql, operator, filled.workflowId, page(idOf('run_', 8, ROWS.records / 2))),
  ],
  ['runs of all workflows', (sql) => selectRecentRuns(sql, operator, PAGE_ROWS)],
  ['history of a document', (sql) => selectAuditRows(sql, filled.orgId, idOf('doc_', 26, 42), PAGE_ROWS)],
  [
    'usage of a month',
    (sql) => selectUsageRows(sql, filled.orgId, { ...month(), by: ['day', 'model'], rowsMax: PAGE_ROWS }),
  ],
];

/** Period of 31 days that ends today. */
function month(): { start: string; end: string } {
  const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  return { start: day(31), end: day(0) };
}

it.each(LISTS)('a page of %s reads a bounded number of rows for each row that it shows', async (_, query) => {
  expect((await query(db.sql)).length).toBeGreaterThan(0);
  expect(await rowsReadBy(query)).toBeLessThanOrEqual(ROWS_READ_FACTOR * PAGE_ROWS);
});

it('the outbox reads no notification that is not due', async () => {
  // A lease in the past leaves the claimed notifications due.
  const query = (sql: Sql) => claimDue(sql, PAGE_ROWS, -3_600_000);
  expect((await query(db.sql)).length).toBe(PAGE_ROWS);
  expect(await rowsReadBy(query)).toBeLessThanOrEqual(ROWS_READ_FACTOR * PAGE_ROWS);
});

it('a page of buckets after the last name is empty', async () => {
  expect(await listBuckets(db.sql, operator, page('~'))).toEqual([]);
});

const COUNTS: readonly (readonly [name: string, query: (sql: Sql) => Promise<unknown>])[] = [
  ['documents by state', (sql) => countDocuments(sql, operator)],
  ['documents by state that a caller may see', (sql) => countDocuments(sql, reader())],
  ['documents of buckets', (sql) => listBuckets(sql, operator, page())],
  ['documents of buckets that a caller may see', (sql) => listBuckets(sql, reader(), page())],
  ['documents of sources', (sql) => listSourceRows(sql, operator, null, page())],
  ['unfinished jobs by state', (sql) => countLive(sql, within())],
];

it.each(COUNTS)('the count of %s reads an index and not the rows', async (_, query) => {
  expect(await rowsReadBy(query)).toBeLessThanOrEqual(ROWS_READ_FACTOR * PAGE_ROWS);
});

it('the count of jobs that ended lately reads no job that ended before', async () => {
  const hours = new Date(Date.now() - 6 * 3_600_000);
  const counted = (sql: Sql) => countFinished(sql, within(), { after: hours, settledAt: new Date() });
  const sum = (await counted(db.sql)).reduce((n, { settled, fresh }) => n + settled + fresh, 0);
  expect(sum).toBeGreaterThan(0);
  expect(await rowsReadBy(counted)).toBeLessThanOrEqual(ORGANIZATIONS * sum + PAGE_ROWS);
});

it('usage by key reads the names of the keys of its page only', async () => {
  const query = (sql: Sql) => selectUsageByActor(sql, filled.orgId, { ...month(), actor: null, rowsMax: PAGE_ROWS });
  const [row] = await query(db.sql);
  expect(row).toMatchObject({ actor: `key:${row?.key_id}`, name: expect.stringMatching(/^key \d+$/) });
  expect(await rowsReadBy(query)).toBeLessThanOrEqual(ROWS.people / 2 + ROWS_READ_FACTOR * PAGE_ROWS);
});
