import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Caller } from '../../../src/access/caller.ts';
import { createBucket } from '../../../src/documents/buckets.ts';
import { BucketPolicy } from '../../../src/documents/schema.ts';
import { openPostgres, type Sql } from '../../../src/platform/postgres.ts';
import { findIndexForCaller } from '../../../src/search/bucket-index-store.ts';
import {
  type DocumentChanges,
  readAllFacts,
  removeOldChanges,
  type SearchedDocument,
} from '../../../src/search/documents/copy-store.ts';
import { DocumentCopy } from '../../../src/search/documents/document-copy.ts';
import {
  findLiveDocuments,
  listLiveDocumentIds,
  readDocumentDetails,
} from '../../../src/search/documents/document-store.ts';
import type { Snapshot } from '../../../src/search/documents/snapshot.ts';
import { Filter } from '../../../src/search/filter/filter.ts';
import { makeKeyRing, makeOrg } from '../../support/access.ts';
import { createTestDatabase, type TestDatabase } from '../../support/postgres.ts';
import { createTestRandom } from '../../support/random.ts';
import { until } from '../../support/until.ts';

const DOCUMENTS = 40;
const STEPS = 300;
const WRITERS = 3;
const random = createTestRandom('document-copy');
const ids = Array.from({ length: DOCUMENTS }, (_, nth) => `doc_${nth}`);

let database: TestDatabase;
let sql: Sql;
let operator: Caller;
let readers: Caller[];
let bucketId: string;

beforeAll(async () => {
  database = await createTestDatabase({ poolMax: WRITERS + 3 });
  ({ sql } = database);
  ({ operator } = await makeOrg(sql, makeKeyRing()));
  const member = { ...operator, role: 'member', scopes: new Set(['search:read']), authLevel: 5 } as unknown as Caller;
  readers = [
    operator,
    { ...member, department: null },
    { ...member, department: 'sales' },
    { ...member, department: 'sales', authLevel: 2, outside: 'shared' } as unknown as Caller,
    { ...member, department: null, outside: 'public' } as unknown as Caller,
  ];
});
afterAll(() => database.drop());

const SCOPES = [
  { collectionId: null, filter: null },
  { collectionId: null, filter: Filter.parse({ team: 'red' }) },
  { collectionId: null, filter: Filter.parse({ type: 'ne', key: 'file_type', value: 'pdf' }) },
  { collectionId: null, filter: Filter.parse({ type: 'gte', key: 'year', value: 2020 }) },
];

async function makeBucket(name: string): Promise<string> {
  return (await createBucket(sql, operator, { name, policy: BucketPolicy.parse({}) })).id;
}

function fieldsOf() {
  return {
    file_type: random.pick(['pdf', 'md', null]),
    status: random.pick(['ready', 'ready', 'ready', 'processing', 'deleting']),
    searchable: random.real() < 0.9,
    active_generation: random.pick([null, random.int(1_000) + 1, random.int(1_000) + 1]),
    privacy_level: random.int(10) + 1,
    scope: random.pick([null, 'sales', 'common', 'legal']),
    classification: random.pick(['internal', 'restricted', 'confidential']),
    public_accessible: random.real() < 0.5,
    access_list: random.pick([null, null, ['group:board'], ['group:legal', 'user:usr_1'], ['user:usr_2']]),
    metadata: { team: random.pick(['red', 'blue']), year: String(2015 + random.int(10)) },
  };
}

/** Insert, change or remove a document, as any writer of the table may. */
async function write(tx: Sql, id: string): Promise<void> {
  const { metadata, ...fields } = fieldsOf();
  if (random.real() < 0.15) await tx`DELETE FROM documents WHERE id = ${id}`;
  else {
    const row = {
      ...{ id, org_id: operator.orgId, bucket_id: bucketId, file_name: `${id}.md`, size_bytes: 1, object_key: 'k' },
      ...{ sha256: Buffer.from([0]), ingest_options: tx.json({}), metadata: tx.json(metadata), ...fields },
    };
    await tx`INSERT INTO documents ${tx([row] as never)} ON CONFLICT (id) DO UPDATE SET ${tx({ ...fields, metadata: row.metadata } as never)}`;
  }
}

/** Transaction that stays open until it is told to end. */
async function beginWriter(own: readonly string[]) {
  let end = (_: boolean) => {};
  const ending = new Promise<boolean>((resolve) => {
    end = resolve;
  });
  let begun = () => {};
  const written = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const done = sql
    .begin(async (tx) => {
      for (const id of own) if (random.real() < 0.6) await write(tx, id);
      begun();
      if (!(await ending)) throw new Error('rolled back');
    })
    .catch(() => begun());
  await written;
  return (commits: boolean) => {
    end(commits);
    return done;
  };
}

async function readCopy(): Promise<DocumentCopy> {
  const all = await readAllFacts(sql, operator.orgId, bucketId, 1_000);
  if (!all) throw new Error('there are too many documents');
  return new DocumentCopy(bucketId, all.snapshot, all.documents);
}

async function changesOf(copy: DocumentCopy, name: string): Promise<DocumentChanges> {
  const { changes } = await findIndexForCaller(sql, operator, name, copy.snapshot);
  if (!changes) throw new Error('no changes were told');
  return changes;
}

async function expectEqual(copy: DocumentCopy): Promise<void> {
  for (const reader of readers) {
    for (const scope of SCOPES) {
      const whole = { bucketIds: [bucketId], ...scope };
      expect(copy.find(copy.selectorOf(reader, scope), ids)).toEqual(await findLiveDocuments(sql, reader, whole, ids));
      expect(copy.readDetails(copy.selectorOf(reader, scope), ids)).toEqual(
        await readDocumentDetails(sql, reader, whole, ids),
      );
      const listed = (await listLiveDocumentIds(sql, reader, whole, 1_000)) ?? [];
      expect(copy.list(copy.selectorOf(reader, scope), 1_000)?.toSorted()).toEqual(listed.toSorted());
    }
  }
}

it('a copy that follows changes of concurrent transactions answers as PostgreSQL does', async () => {
  bucketId = await makeBucket('followed');
  for (const id of ids) await write(sql, id);
  const copy = await readCopy();
  const parts = Array.from({ length: WRITERS }, (_, nth) => ids.filter((_, at) => at % WRITERS === nth));
  const open = await Promise.all(parts.map(beginWriter));
  let changed = 0;
  for (let step = 0; step < STEPS; step++) {
    // Transactions end in another order than they began, so that a snapshot has gaps.
    const nth = random.int(WRITERS);
    await open[nth]?.(random.real() < 0.8);
    open[nth] = await beginWriter(parts[nth] ?? []);
    if (random.real() < 0.3 && step < STEPS - 1) continue;
    const since = copy.snapshot;
    const changes = await changesOf(copy, 'followed');
    changed += changes.changed?.length ?? 0;
    expect(copy.follow(since, changes)).toBe(true);
    if (step % 10 === 0 || step === STEPS - 1) await expectEqual(copy);
  }
  expect(changed).toBeGreaterThan(STEPS);
  await Promise.all(open.map((end) => end(false)));
});

it('answers that arrive in another order than they were asked for leave the newest state', async () => {
  bucketId = await makeBucket('order');
  const own = ids.map((id) => `order_${id}`);
  for (const id of own) await write(sql, id);
  const copy = await readCopy();
  const since = copy.snapshot;
  await write(sql, own[0] as string);
  const first = await changesOf(copy, 'order');
  for (const id of own) await write(sql, id);
  const second = await changesOf(copy, 'order');
  expect(copy.follow(since, second)).toBe(true);
  expect(copy.follow(since, first)).toBe(true);
  expect(copy.snapshot).toEqual(second.snapshot);
  const scope = { collectionId: null, filter: null };
  const expected = await findLiveDocuments(sql, operator, { bucketIds: [bucketId], ...scope }, own);
  expect(copy.find(copy.selectorOf(operator, scope), own)).toEqual(expected);
});

it('a list is the same array until one of its documents changes', async () => {
  bucketId = await makeBucket('lists');
  const insert = async (id: string, team: string) => {
    const facts = { team };
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
                             active_generation, metadata)
      VALUES (${id}, ${operator.orgId}, ${bucketId}, ${id}, 1, '\\x00', 'k', '{}', 'ready', 1, ${sql.json(facts)})`;
  };
  await insert('list_1', 'red');
  const copy = await readCopy();
  const scope = { collectionId: null, filter: Filter.parse({ team: 'red' }) };
  const list = copy.list(copy.selectorOf(operator, scope), 10);
  expect(list).toEqual(['list_1']);
  const follow = async () => copy.follow(copy.snapshot, await changesOf(copy, 'lists'));
  await insert('list_2', 'blue');
  expect(await follow()).toBe(true);
  expect(copy.list(copy.selectorOf(operator, scope), 10)).toBe(list);
  await sql`UPDATE documents SET metadata = '{"team": "red"}' WHERE id = 'list_2'`;
  expect(await follow()).toBe(true);
  expect(copy.list(copy.selectorOf(operator, scope), 10)).toEqual(['list_1', 'list_2']);
});

it('a copy selects by filters of few conditions only, in so far as it has many documents', async () => {
  bucketId = await makeBucket('comparisons');
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
                           active_generation)
    SELECT 'compared_' || i, ${operator.orgId}, ${bucketId}, 'f', 1, '\\x00', 'k', '{}', 'ready', 1
    FROM generate_series(1, 2500) i`;
  const all = await readAllFacts(sql, operator.orgId, bucketId, 2_500);
  const copy = new DocumentCopy(bucketId, all?.snapshot as never, all?.documents ?? []);
  const of = (conditions: number) => ({
    collectionId: null,
    filter: Filter.parse(Object.fromEntries(Array.from({ length: conditions }, (_, nth) => [`key${nth}`, 'x']))),
  });
  expect(copy.canSelect({ collectionId: null, filter: null })).toBe(true);
  expect([1, 20, 21].map((conditions) => copy.canSelect(of(conditions)))).toEqual([true, true, false]);
});

it('a copy does not follow changes that may be incomplete', async () => {
  bucketId = await makeBucket('removed');
  await write(sql, 'removed_1');
  const copy = await readCopy();
  const move = async () => {
    await sql`UPDATE document_change_log SET moved_at = now() - interval '1 hour'`;
    await removeOldChanges(sql);
  };
  await move();
  const kept = await changesOf(copy, 'removed');
  expect(copy.follow(copy.snapshot, kept)).toBe(true);
  const old = await readCopy();
  await sql`UPDATE documents SET active_generation = 5, status = 'ready' WHERE id = 'removed_1'`;
  // Not before all transactions of the server have ended that began before, those of other databases included.
  await until(async () => {
    await move();
    return (await sql`SELECT 1 FROM document_changes WHERE bucket_id = ${bucketId}`).length === 0;
  });
  expect(old.follow(old.snapshot, await changesOf(old, 'removed'))).toBe(false);
  const read = await readCopy();
  const changes = await changesOf(read, 'removed');
  expect(
    read.follow(read.snapshot, { ...changes, changed: null, snapshot: { ...changes.snapshot, xmax: 2 ** 40 } }),
  ).toBe(false);
  const elsewhere = { ...changes.snapshot, server: 'another start' };
  expect(read.follow(read.snapshot, { ...changes, snapshot: elsewhere })).toBe(false);
});

it('a copy does not follow once the id of the run of the server is gone, and the next reading gives one new id', async () => {
  bucketId = await makeBucket('crashed');
  const before = await readCopy();
  // As PostgreSQL does after a crash.
  await sql`TRUNCATE server_run`;
  const nameless = await changesOf(before, 'crashed');
  expect(nameless.snapshot.server).toBeNull();
  expect(before.follow(before.snapshot, nameless)).toBe(false);
  const nobody = new DocumentCopy(bucketId, nameless.snapshot, []);
  expect(nobody.follow(nobody.snapshot, nameless)).toBe(false);
  const copies = await Promise.all([readCopy(), readCopy(), readCopy(), readCopy()]);
  expect(new Set(copies.map(({ snapshot }) => snapshot.server)).size).toBe(1);
  expect(copies[0]?.snapshot.server).not.toBe(before.snapshot.server);
  for (const copy of copies) expect(copy.follow(copy.snapshot, await changesOf(copy, 'crashed'))).toBe(true);
  expect(before.follow(before.snapshot, await changesOf(before, 'crashed'))).toBe(false);
});

it('a role that may only read has no copy while the run of the server has no id', async () => {
  bucketId = await makeBucket('reader');
  const reader = openPostgres(database.connection, { poolMax: 1, applicationName: 'test' });
  try {
    await sql`TRUNCATE server_run`;
    await reader`SET default_transaction_read_only = on`;
    await expect(readAllFacts(reader, operator.orgId, bucketId, 10)).rejects.toMatchObject({ code: '25006' });
    await readCopy();
    expect(await readAllFacts(reader, operator.orgId, bucketId, 10)).toMatchObject({ documents: [] });
  } finally {
    await reader.end({ timeout: 1 });
  }
});

it('a copy does not follow edits by which its documents grow by more than a quarter, however many there are', () => {
  const documentOf = (id: string, note: string) =>
    ({
      id,
      active_generation: 1,
      file_name: 'f',
      source_path: null,
      metadata: { note },
    }) as unknown as SearchedDocument;
  const snapshotAt = (xmax: number): Snapshot => ({ server: 'here', xmin: xmax, xmax, inProgress: [] });
  const own = Array.from({ length: 4_000 }, (_, nth) => documentOf(`doc_${nth}`, 'x'.repeat(1_000)));
  const copy = new DocumentCopy('bkt_x', snapshotAt(1), own);
  const admitted = copy.memoryBytes;
  let at = 1;
  const follow = (changed: readonly (readonly [string, SearchedDocument | null])[]) =>
    copy.follow(copy.snapshot, { snapshot: snapshotAt(++at), keptFrom: 1, changed });
  const edit = (from: number, length: number) =>
    own.slice(from, from + 500).map(({ id }) => [id, documentOf(id, 'y'.repeat(length))] as const);
  for (let round = 0; round < 10; round++) expect(follow(edit(0, 1_000))).toBe(true);
  expect(copy.memoryBytes).toBe(admitted);
  expect(follow(edit(0, 3_000))).toBe(true);
  expect(copy.memoryBytes).toBe(admitted + 500 * 2_000);
  expect(follow(edit(500, 3_000))).toBe(true);
  expect(follow(edit(500, 1_000))).toBe(true);
  expect(follow(own.slice(0, 500).map(({ id }) => [id, null] as const))).toBe(true);
  expect(copy.memoryBytes).toBe((admitted * 7) / 8);
  expect([500, 1_000, 1_500, 2_000].map((from) => follow(edit(from, 3_000)))).toEqual([true, true, true, false]);
  expect(copy.size).toBe(3_500);
});

it('changes of more documents than are read at a time are told to be too many', async () => {
  bucketId = await makeBucket('many');
  const copy = await readCopy();
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
                           active_generation)
    SELECT 'many_' || i, ${operator.orgId}, ${bucketId}, 'f', 1, '\\x00', 'k', '{}', 'ready', 1 FROM generate_series(1, 1001) i`;
  const changes = await changesOf(copy, 'many');
  expect(changes.changed).toBeNull();
  expect(copy.follow(copy.snapshot, changes)).toBe(false);
  expect(await readAllFacts(sql, operator.orgId, bucketId, 1_000)).toBeNull();
  expect((await readAllFacts(sql, operator.orgId, bucketId, 1_001))?.documents).toHaveLength(1_001);
});
