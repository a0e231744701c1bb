import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { SCOPES_BY_ROLE } from '../../src/access/roles.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { type BulkEditContext, editDocuments } from '../../src/metadata/edit-documents.ts';
import { BulkEdit } from '../../src/metadata/schema.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';
import { fingerprint } from './sample.ts';

let test: TestAppliance;
let context: BulkEditContext;
let bucketId: string;
const hardDeletes: { documentIds: readonly string[]; statement: string }[] = [];
beforeAll(async () => {
  test = await openTestAppliance({}, { logger: pino({ level: 'silent' }) });
  context = {
    ...test.appliance.ingest.uploads,
    queueHardDelete: async (request) => {
      hardDeletes.push(request);
      return { jobId: 'job_1', requestedAt: new Date(0), documentIds: request.documentIds };
    },
  };
});
afterAll(() => test.close());

let buckets = 0;
beforeEach(async () => {
  hardDeletes.length = 0;
  buckets++;
  const bucket = { name: `bulk-${buckets}`, policy: BucketPolicy.parse({}) };
  bucketId = (await createBucket(test.appliance.sql, test.operator, bucket)).id;
});

const edit = (body: unknown, caller: Caller = test.operator) =>
  editDocuments(context, caller, bucketId, BulkEdit.parse(body));
const state = (statement: string, rest: object = {}) => edit({ statement, reindex: false, ...rest });

async function upload(metadata: Record<string, unknown> = {}, fields: object = {}): Promise<string> {
  const content = { bytes: Buffer.from(JSON.stringify(metadata) + buckets), fileName: 'a.txt', contentType: null };
  const request = UploadRequest.parse({ on_duplicate: 'allow', metadata, ...fields });
  return (await uploadDocument(test.appliance.ingest.uploads, test.operator, bucketId, content, request)).id;
}

/** List what the audit log has about previews of this bucket. */
async function previewsOf({ actor }: Caller): Promise<unknown[]> {
  const rows = await test.appliance.sql`
    SELECT detail FROM audit_log
    WHERE action = 'document.preview_edit' AND target = ${bucketId} AND actor = ${actor} ORDER BY id`;
  return rows.map((row) => row['detail']);
}

/** Insert documents as ingest would leave them, without running it. */
async function insertMany(count: number): Promise<void> {
  await test.appliance.sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status, metadata)
    SELECT 'doc_' || ${buckets}::text || '_' || lpad(i::text, 5, '0'), ${test.operator.orgId}, ${bucketId}, 'a.txt', 1, '\\x00', 'k', '{}',
           'ready', jsonb_build_object('team', 'a', 'number', i::text)
    FROM generate_series(1, ${count}) AS i`;
}

describe('a bulk edit', () => {
  it('a bulk edit by fields changes exactly the documents that match', async () => {
    const ids = [
      await upload({ team: 'a', year: 2020 }),
      await upload({ team: 'a' }),
      await upload({ team: 'b', year: 2020 }),
    ];
    const reply = await edit({ where: { team: 'a', year: 2020 }, metadata: { tag: 'x' }, reindex: false });
    expect(reply).toMatchObject({ bucket_id: bucketId, matched: 1, updated: 1, skipped: 0, dry_run: false });
    expect(reply.items).toEqual([
      {
        id: ids[0],
        metadata: { team: 'a', year: '2020', tag: 'x' },
        searchable: true,
        before: { 'metadata.tag': null },
        after: { 'metadata.tag': 'x' },
        reindex_job_id: null,
        indexed_vectors_deleted: 0,
        warnings: [],
      },
    ]);
    const missing = await edit({ where: { year: null }, dry_run: true });
    expect(missing.items.map(({ id }) => id)).toEqual([ids[1]]);
  });

  it('a statement of a bulk edit overrides the fields, and the smaller limit wins', async () => {
    await insertMany(5);
    const both = { where: { team: 'none' }, metadata: { tag: 'y' } };
    const reply = await state(`UPDATE documents SET tag = 'x' WHERE team = 'a' LIMIT 3`, { ...both, limit: 4 });
    expect(reply.items.map(({ metadata }) => metadata['tag'])).toEqual(['x', 'x', 'x']);
    const more = 'more documents match than the limit of 3';
    expect(reply.warnings).toEqual([`${more}; send the same request again for the others`]);
    const rest = await state(`UPDATE documents SET tag = 'x' WHERE team = 'a' LIMIT 3`);
    expect(rest).toMatchObject({ matched: 3, updated: 2, skipped: 1 });
    expect(rest.warnings).toEqual([
      `${more}, but the others would not change`,
      'skipped 1: they already have these values',
    ]);
  });

  it('a preview shows exactly what a bulk edit will do, and changes nothing', async () => {
    await insertMany(3);
    await upload({ team: 'a', tag: 'x' });
    await upload({ team: 'a' }, { privacy_level: 9 });
    const before = await fingerprint(test.appliance.sql);
    const statement = `UPDATE documents SET tag = 'x', privacy_level = 8 WHERE team = 'a'`;
    const caller = { ...test.operator, authLevel: 6 };
    const preview = await edit({ statement, reindex: false, dry_run: true }, caller);
    expect(await fingerprint(test.appliance.sql)).toBe(before);
    expect(await previewsOf(caller)).toEqual([{ statement, where: null, matched: 4 }]);
    expect(preview).toMatchObject({ matched: 4, updated: 0, skipped: 0, dry_run: true, reindex_queued: 0 });
    expect(preview.items[0]?.warnings).toEqual(['privacy_level was lowered from 8 to 6 by policy']);
    const run = await edit({ statement, reindex: false }, caller);
    expect(run.items.map(({ id, warnings }) => ({ id, warnings }))).toEqual(
      preview.items.map(({ id, warnings }) => ({ id, warnings })),
    );
    expect(run).toMatchObject({ matched: 4, updated: 4, skipped: 0, warnings: preview.warnings });
  });

  it('a preview shows before and after of every field that changes, in metadata, access policy and search', async () => {
    const id = await upload({ team: 'a', old: 'y' });
    await upload({ team: 'a', tag: 'x' }, { privacy_level: 8, classification: 'restricted' });
    const fields = `tag = 'x', old = NULL, privacy_level = 8, classification = 'restricted', review_status = 'approved'`;
    const statement = `UPDATE documents SET ${fields}, scope = 'hr', searchable = FALSE WHERE team = 'a'`;
    const changes = {
      before: {
        ...{ 'metadata.tag': null, 'metadata.old': 'y', privacy_level: 1, classification: 'internal' },
        ...{ review_status: 'pending', scope: null, searchable: true },
      },
      after: {
        ...{ 'metadata.tag': 'x', 'metadata.old': null, privacy_level: 8, classification: 'restricted' },
        ...{ review_status: 'approved', scope: 'hr', searchable: false },
      },
    };
    const preview = await edit({ statement, dry_run: true });
    const [first, second] = preview.items.map(({ before, after }) => ({ before, after }));
    expect([first, second]).toEqual([
      changes,
      {
        before: { review_status: 'pending', scope: null, searchable: true },
        after: { review_status: 'approved', scope: 'hr', searchable: false },
      },
    ]);
    const run = await edit({ statement });
    expect(run.items.map(({ before, after }) => ({ before, after }))).toEqual([first, second]);
    expect((await edit({ statement, dry_run: true })).items[0]).toMatchObject({ id, before: {}, after: {} });
  });

  it('a preview lists every match as it would be, also those that would stay as they are', async () => {
    const ids = [await upload({ tag: 'x' }), await upload({ tag: 'y' }), await upload({ tag: 'z' })];
    await upload({ tag: 'hidden' }, { privacy_level: 9 });
    await test.appliance.sql`UPDATE documents SET status = 'deleting' WHERE id = ${ids[2] as string}`;
    const caller = { ...test.operator, authLevel: 5 };
    const statement = `UPDATE documents SET tag = 'x', searchable = TRUE WHERE id > ''`;
    const preview = await edit({ statement, reindex: false, dry_run: true }, caller);
    expect(preview).toMatchObject({ matched: 3, updated: 0, skipped: 2, dry_run: true });
    expect(preview.items.map(({ id, metadata, warnings }) => [id, metadata['tag'], warnings])).toEqual([
      [ids[0], 'x', ['it already has these values']],
      [ids[1], 'x', []],
      [ids[2], 'z', ['it is being deleted']],
    ]);
    const hide = await edit({ statement: `SOFTDELETE FROM documents WHERE tag = 'y'`, dry_run: true }, caller);
    expect(hide.items).toMatchObject([{ id: ids[1], searchable: false }]);
    const long = {
      where: { tag: 'y' },
      metadata: Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`k${n}`, 1])),
      dry_run: true,
    };
    expect((await edit(long, caller)).items).toMatchObject([
      { id: ids[1], metadata: { tag: 'y' }, warnings: [expect.stringMatching(/^it would have more metadata than/)] },
    ]);
  });

  it('a bulk edit reports why documents are skipped, and nothing of those that the caller may not see', async () => {
    const [same, hidden, going] = [
      await upload({ tag: 'x' }),
      await upload({ tag: 'y' }, { privacy_level: 9 }),
      await upload(),
    ];
    await test.appliance.sql`UPDATE documents SET status = 'deleting' WHERE id = ${going}`;
    const caller = { ...test.operator, authLevel: 5 };
    const reply = await edit({ statement: `UPDATE documents SET tag = 'x' WHERE id > ''`, reindex: false }, caller);
    expect(reply).toMatchObject({ matched: 2, updated: 0, skipped: 2 });
    expect(reply.items.map(({ id, warnings }) => [id, warnings])).toEqual([
      [same, ['it already has these values']],
      [going, ['it is being deleted']],
    ]);
    expect(reply.warnings.toSorted()).toEqual([
      'skipped 1: they already have these values',
      'skipped 1: they are being deleted',
    ]);
    const [row] = await test.appliance.sql`SELECT metadata FROM documents WHERE id = ${hidden}`;
    expect(row?.['metadata']).toEqual({ tag: 'y' });
    const seen = await edit({ statement: 'SELECT documents' }, caller);
    expect(seen).toMatchObject({ matched: 1, items: [{ id: same }] });
  });

  it('a bulk edit writes one audit record per document, with the original statement', async () => {
    await insertMany(2);
    const statement = `UPDATE documents\nSET team = 'b' WHERE number = 2;`;
    const { items } = await state(statement);
    const rows = await test.appliance
      .sql`SELECT actor, target, detail FROM audit_log WHERE action = 'document.edit_metadata' AND detail ->> 'bucket_id' = ${bucketId}`;
    expect(rows).toEqual([
      {
        actor: test.operator.actor,
        target: items[0]?.id,
        detail: expect.objectContaining({
          statement,
          before: { 'metadata.team': 'a' },
          after: { 'metadata.team': 'b' },
        }),
      },
    ]);
  });

  it('a bulk edit keeps the batches before a failure, and the same request continues with the others', async () => {
    await insertMany(1200);
    const { sql } = test.appliance;
    await sql`ALTER TABLE documents ADD CONSTRAINT no_number_700 CHECK (metadata ->> 'number' <> '700' OR NOT metadata ? 'tag')`;
    const statement = `UPDATE documents SET tag = 'x' WHERE team = 'a'`;
    const many = { limit: 2000 };
    const stopped = await state(statement, many).finally(
      () => sql`ALTER TABLE documents DROP CONSTRAINT no_number_700`,
    );
    expect(stopped).toMatchObject({ matched: 1200, updated: 500, skipped: 700 });
    expect(stopped.warnings).toContain('skipped 700: they were not processed');
    expect(await state(statement, many)).toMatchObject({ matched: 1200, updated: 700, skipped: 500 });
  });

  it('a bulk edit changes 2,000 documents, and no more', async () => {
    await insertMany(2001);
    const reply = await state(`UPDATE documents SET tag = 'x' WHERE team = 'a' LIMIT 2000`);
    expect(reply).toMatchObject({ matched: 2000, updated: 2000, skipped: 0 });
    expect(reply.items).toHaveLength(2000);
  });
});

describe('taking documents out of search', () => {
  it('SOFTDELETE deletes vectors, cancels jobs and keeps documents; searchable=true makes the vectors anew', async () => {
    const { sql } = test.appliance;
    const ready = await upload({ kind: 'ready' });
    const worker = test.appliance.jobs.worker('ingest');
    try {
      await worker.start(new AbortController().signal);
      await until(
        async () => (await sql`SELECT 1 FROM documents WHERE id = ${ready} AND status = 'ready'`).length === 1,
        {
          withinMs: 20_000,
          what: 'ingest',
        },
      );
    } finally {
      await worker.stop();
    }
    const waiting = await upload({ kind: 'waiting' });
    const reply = await edit({ statement: `SOFTDELETE FROM documents WHERE kind IN ('ready', 'waiting')` });
    expect(reply).toMatchObject({ matched: 2, updated: 2, reindex_queued: 0, indexed_vectors_deleted: 1 });
    const rows =
      await sql`SELECT id, searchable, active_generation, status, error_message FROM documents WHERE bucket_id = ${bucketId} ORDER BY id`;
    expect(rows).toEqual([
      { id: ready, searchable: false, active_generation: null, status: 'ready', error_message: null },
      {
        ...{ id: waiting, searchable: false, active_generation: null, status: 'failed' },
        error_message: expect.stringContaining('removed from search'),
      },
    ]);
    const unfinished =
      await sql`SELECT 1 FROM jobs WHERE bucket_id = ${bucketId} AND status NOT IN ('ready', 'cancelled')`;
    expect(unfinished).toHaveLength(0);

    const again = await edit({ where: { kind: 'ready' }, searchable: true });
    expect(again).toMatchObject({ updated: 1, reindex_queued: 1, items: [{ id: ready, searchable: true }] });
    const still = await edit({ where: { kind: 'waiting' }, metadata: { tag: 'x' } });
    expect(still).toMatchObject({ updated: 1, reindex_queued: 0 });
    expect(still.items[0]?.warnings).toEqual(['search is disabled, so nothing was reindexed']);
  });
});

describe('HARDDELETE', () => {
  const statement = `HARDDELETE FROM documents WHERE team = 'a'`;

  it('HARDDELETE is queued only with the exact confirmation, and previewed without', async () => {
    const id = await upload({ team: 'a' });
    const preview = await edit({ statement, dry_run: true });
    expect(preview).toMatchObject({ matched: 1, updated: 0, items: [{ id }] });
    expect(preview.job_id).toBeUndefined();
    for (const confirm of [
      undefined,
      '',
      `harddelete ${bucketId}`,
      `HARDDELETE  ${bucketId}`,
      `HARDDELETE ${bucketId} `,
    ]) {
      await expect(edit({ statement, confirm })).rejects.toMatchObject({ status: 400, param: 'confirm' });
    }
    expect(hardDeletes).toEqual([]);
    const reply = await edit({ statement, confirm: `HARDDELETE ${bucketId}` });
    expect(reply).toMatchObject({ status: 'queued', job_id: 'job_1', delete_requested_at: '1970-01-01T00:00:00.000Z' });
    expect(hardDeletes).toMatchObject([{ documentIds: [id], statement, bucketId }]);
  });

  it('HARDDELETE skips documents that the caller may not see', async () => {
    const id = await upload({ team: 'a' });
    await upload({ team: 'a', other: 1 }, { privacy_level: 9 });
    const reply = await edit({ statement, confirm: `HARDDELETE ${bucketId}` }, { ...test.operator, authLevel: 5 });
    expect(reply).toMatchObject({ matched: 1, skipped: 0, items: [{ id }] });
    expect(hardDeletes).toMatchObject([{ documentIds: [id] }]);
  });
});

describe('permissions of bulk edits', () => {
  const operations = {
    select: 'SELECT documents',
    update: `UPDATE documents SET tag = 'x' WHERE id > ''`,
    softdelete: `SOFTDELETE FROM documents WHERE id > ''`,
    harddelete: `HARDDELETE FROM documents WHERE id > ''`,
  };
  const user = (role: Caller['role']): Partial<Caller> => ({
    kind: 'user',
    role,
    scopes: SCOPES_BY_ROLE[role ?? 'member'],
  });
  const key = (...scopes: ('search' | 'documents:write' | 'buckets:manage' | 'platform_admin')[]): Partial<Caller> => ({
    kind: 'api_key',
    role: null,
    scopes: new Set(scopes),
  });
  const CASES: [string, Partial<Caller>, (keyof typeof operations)[]][] = [
    ['a key that reads', key('search'), ['select']],
    ['a key that writes documents', key('search', 'documents:write'), ['select']],
    ['a key that manages buckets', key('buckets:manage'), ['select', 'update', 'softdelete']],
    ['a key of the platform', key('buckets:manage', 'platform_admin'), ['select', 'update', 'softdelete']],
    ['a member', user('member'), ['select']],
    ['an admin', user('admin'), ['select', 'update', 'softdelete', 'harddelete']],
    ['an owner', user('owner'), ['select', 'update', 'softdelete', 'harddelete']],
    ['an org_admin', user('org_admin'), ['select', 'update', 'softdelete', 'harddelete']],
    ['a platform_admin', user('platform_admin'), ['select', 'update', 'softdelete', 'harddelete']],
    ['the operator', {}, ['select', 'update', 'softdelete', 'harddelete']],
  ];

  it.each(CASES)('%s may run only the allowed operations, at every privacy level', async (_name, kind, allowed) => {
    for (const level of [1, 5, 9]) await upload({ level }, { privacy_level: level });
    for (const authLevel of [1, 5, 10]) {
      const caller = { ...test.operator, ...kind, authLevel };
      const visible = [1, 5, 9].filter((level) => level <= authLevel).length;
      for (const [operation, statement] of Object.entries(operations) as [keyof typeof operations, string][]) {
        const run = edit({ statement, reindex: false, dry_run: true }, caller);
        if (!allowed.includes(operation)) await expect(run, operation).rejects.toMatchObject({ status: 403 });
        else expect((await run).items, operation).toHaveLength(visible);
      }
    }
  });

  it('a bucket of another organization cannot be edited', async () => {
    await expect(
      edit({ statement: 'SELECT documents' }, { ...test.operator, orgId: 'org_other' }),
    ).rejects.toMatchObject({
      status: 404,
      code: 'bucket_not_found',
    });
  });
});

it.each([
  [{ where: { chunk_id: 'x' } }, 'key is reserved by the service'],
  [{ where: { 'a b': 'x' } }, 'key may only have'],
  [{ where: { team: '\ud800' } }, 'must be well-formed text'],
  [{ statement: 'DELETE FROM documents WHERE a = 1' }, 'DELETE is not supported'],
  [{ statement: '' }, 'found the end of the statement'],
])('the bulk edit %j is refused', async (body, message) => {
  await expect(edit(body)).rejects.toMatchObject({ status: 400, message: expect.stringContaining(message) });
});
