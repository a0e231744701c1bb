import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller, Role, Scope } from '../../src/access/caller.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { editDocument } from '../../src/metadata/edit-document.ts';
import { editDocuments } from '../../src/metadata/edit-documents.ts';
import { BulkEdit, SingleEdit } from '../../src/metadata/schema.ts';
import type { AppError } from '../../src/platform/errors.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { makeUserToken } from '../support/tokens.ts';

/** Privacy levels of the documents that every kind of caller edits by every operation (contract 5.4 and 5.5). */
const LEVELS = [1, 5, 9] as const;

let test: TestApi;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  await test.key({ org: 'other' });
});
afterAll(() => test.close());

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests that read them
  readonly body: any;
}

/** Send an edit of one document, or a bulk edit if `documentId` is null. */
type SendEdit = (bucketId: string, documentId: string | null, body: unknown) => Promise<Answer>;

const overHttp = (credential: () => Promise<string | undefined>) => async (): Promise<SendEdit> => {
  const key = await credential();
  return (bucketId, documentId, json) => {
    const place = documentId === null ? 'metadata/bulk' : `${documentId}/metadata`;
    const options = { json, ...(key === undefined ? {} : { key }) };
    return test.call('PATCH', `/v1/buckets/${bucketId}/documents/${place}`, options);
  };
};
const key = (authLevel: number, ...scopes: Scope[]) => overHttp(() => test.key({ scopes, authLevel }));
const user = (role: Role, authLevel?: number) =>
  overHttp(() => makeUserToken(test.appliance, { role, ...(authLevel === undefined ? {} : { authLevel }) }));

/** The command line has no HTTP: it calls the operations as the operator. */
const operator = async (): Promise<SendEdit> => async (bucketId, documentId, body) => {
  const { metadata } = test.appliance;
  const caller: Caller = test.operator;
  try {
    const reply =
      documentId === null
        ? await editDocuments(metadata, caller, bucketId, BulkEdit.parse(body))
        : await editDocument(metadata, caller, bucketId, documentId, SingleEdit.parse(body));
    return { status: 'status' in reply ? 202 : 200, body: reply };
  } catch (error) {
    return { status: (error as AppError).status, body: { detail: (error as AppError).message } };
  }
};

/** Rights of a caller: none, preview by SELECT, change metadata or delete. A foreign one is of another organization. */
type Right = 'anonymous' | 'foreign user' | 'foreign key' | 'reads' | 'manages' | 'deletes';
const CALLERS: [name: string, make: () => Promise<SendEdit>, right: Right, authLevel: number][] = [
  ['a caller without a key', overHttp(async () => undefined), 'anonymous', 0],
  ['a key with another scope', key(10, 'search'), 'reads', 10],
  ['a key with the default scopes', overHttp(() => test.key()), 'reads', 5],
  [
    'a key with every scope but that of buckets',
    key(10, 'documents:write', 'jobs:write', 'routing:manage'),
    'reads',
    10,
  ],
  ['a key that manages buckets', key(10, 'buckets:manage'), 'manages', 10],
  ['a key that manages buckets, of a low level', key(2, 'buckets:manage'), 'manages', 2],
  ['a key of the platform without the scope', key(10, 'platform_admin'), 'reads', 10],
  ['a key of the platform', key(10, 'platform_admin', 'buckets:manage'), 'manages', 10],
  ['a member', user('member'), 'reads', 3],
  ['a member of the highest level', user('member', 10), 'reads', 10],
  ['an admin', user('admin'), 'deletes', 7],
  ['an admin of the lowest level', user('admin', 1), 'deletes', 1],
  ['an org_admin', user('org_admin'), 'deletes', 7],
  ['an owner', user('owner'), 'deletes', 9],
  ['a platform_admin', user('platform_admin'), 'deletes', 10],
  ['the operator', operator, 'deletes', 10],
  [
    'a key of another organization',
    overHttp(() => test.key({ org: 'other', scopes: ['buckets:manage', 'platform_admin'], authLevel: 10 })),
    'foreign key',
    10,
  ],
  [
    'an owner of another organization',
    overHttp(() => makeUserToken(test.appliance, { role: 'owner', org: 'other' })),
    'foreign user',
    10,
  ],
];

let buckets = 0;
/** Create a bucket with one document of each level. */
async function fill(): Promise<{ bucketId: string; ids: string[] }> {
  const { sql } = test.appliance;
  const name = `matrix-${++buckets}`;
  const { id: bucketId } = await createBucket(sql, test.operator, { name, policy: BucketPolicy.parse({}) });
  const ids: string[] = [];
  for (const level of LEVELS) {
    const id = `doc_${buckets}_${level}`;
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
                             metadata, privacy_level)
      VALUES (${id}, ${test.operator.orgId}, ${bucketId}, 'a.txt', 1, '', 'k', '{}', 'ready', '{"team": "a"}', ${level})`;
    ids.push(id);
  }
  return { bucketId, ids };
}

async function states(bucketId: string): Promise<readonly unknown[]> {
  return test.appliance.sql`
    SELECT id, metadata, privacy_level, searchable, status, updated_at FROM documents
    WHERE bucket_id = ${bucketId} ORDER BY id`;
}

/** Return the status that refuses a caller, or null if the caller is allowed. */
function refusalOf(right: Right, allowed: readonly Right[]): number | null {
  if (right === 'anonymous') return 401;
  if (allowed.includes(right)) return null;
  // A foreign caller with the right in its own organization learns only that there is no such bucket.
  return right === 'foreign user' || (right === 'foreign key' && allowed.includes('manages')) ? 404 : 403;
}

const detail = { detail: expect.any(String) };

describe.each(CALLERS)('%s', (name, make, right, authLevel) => {
  const visible = LEVELS.filter((level) => level <= authLevel).length;

  it(`${name} edits one document, or is refused`, async () => {
    const { bucketId, ids } = await fill();
    const send = await make();
    for (const [index, level] of LEVELS.entries()) {
      const before = await states(bucketId);
      const id = ids[index] as string;
      const { status, body } = await send(bucketId, id, { metadata: { tag: 'x' }, reindex: false });
      const refusal = refusalOf(right, ['manages', 'deletes']) ?? (level > authLevel ? 403 : null);
      expect([level, status]).toEqual([level, refusal ?? 200]);
      if (refusal === null) {
        expect(body).toMatchObject({ id, metadata: { team: 'a', tag: 'x' }, reindex_queued: false });
      } else {
        expect(body).toEqual(detail);
        expect(await states(bucketId)).toEqual(before);
      }
    }
  });

  it(`${name} previews by SELECT the documents it may see`, async () => {
    const { bucketId } = await fill();
    const send = await make();
    const before = await states(bucketId);
    const { status, body } = await send(bucketId, null, { statement: `SELECT documents WHERE team = 'a'` });
    const refusal = refusalOf(right, ['reads', 'manages', 'deletes']);
    expect(status).toBe(refusal ?? 200);
    if (refusal === null) {
      expect(body).toMatchObject({ matched: visible, updated: 0, skipped: 0, dry_run: true });
      expect(body.items).toHaveLength(visible);
    }
    expect(await states(bucketId)).toEqual(before);
  });

  it.each([
    ['UPDATE', { statement: `UPDATE documents SET tag = 'x' WHERE team = 'a'`, reindex: false }],
    ['SOFTDELETE', { statement: `SOFTDELETE FROM documents WHERE team = 'a'` }],
    ['an edit by fields', { where: { team: 'a' }, privacy_level: 1, metadata: { tag: 'y' }, reindex: false }],
  ])(`${name} changes by %s the documents it may see, or is refused, in the preview too`, async (_, request) => {
    const { bucketId } = await fill();
    const send = await make();
    const before = await states(bucketId);
    const preview = await send(bucketId, null, { ...request, dry_run: true });
    const refusal = refusalOf(right, ['manages', 'deletes']);
    expect(preview.status).toBe(refusal ?? 200);
    expect(await states(bucketId)).toEqual(before);
    const run = await send(bucketId, null, request);
    expect(run.status).toBe(refusal ?? 200);
    if (refusal !== null) {
      expect(run.body).toEqual(detail);
      expect(await states(bucketId)).toEqual(before);
      return;
    }
    expect(preview.body).toMatchObject({ matched: visible, updated: 0, skipped: 0, dry_run: true });
    expect(run.body).toMatchObject({ matched: visible, updated: visible, skipped: 0, dry_run: false });
    const idsOf = (answer: Answer) => answer.body.items.map((item: { id: string }) => item.id);
    expect(idsOf(run)).toEqual(idsOf(preview));
    const after = await states(bucketId);
    expect(after.map((state, at) => JSON.stringify(state) !== JSON.stringify(before[at]))).toEqual(
      LEVELS.map((level) => level <= authLevel),
    );
  });

  it(`${name} deletes for good the documents it may see, or is refused, in the preview too`, async () => {
    const { bucketId, ids } = await fill();
    const send = await make();
    const before = await states(bucketId);
    const statement = `HARDDELETE FROM documents WHERE team = 'a'`;
    const confirm = `HARDDELETE ${bucketId}`;
    const preview = await send(bucketId, null, { statement, dry_run: true });
    const unconfirmed = await send(bucketId, null, { statement });
    expect(await states(bucketId)).toEqual(before);
    const run = await send(bucketId, null, { statement, confirm });
    const refusal = refusalOf(right, ['deletes']);
    expect([preview.status, unconfirmed.status, run.status]).toEqual(
      refusal === null ? [200, 400, 202] : [refusal, refusal, refusal],
    );
    expect(unconfirmed.body).toEqual(detail);
    if (refusal !== null) {
      expect(await states(bucketId)).toEqual(before);
      return;
    }
    const counts = { matched: visible, skipped: 0, items: ids.slice(0, visible).map((id) => ({ id })) };
    expect(preview.body).toMatchObject({ ...counts, updated: 0, dry_run: true });
    expect(run.body).toMatchObject({ ...counts, dry_run: false, status: 'queued' });
    expect(Date.parse(run.body.delete_requested_at)).toBeLessThanOrEqual(Date.now());
    const { sql } = test.appliance;
    const jobs = await sql`SELECT bucket_id FROM jobs WHERE id = ${run.body.job_id}`;
    expect(jobs).toEqual([{ bucket_id: bucketId }]);
    const deleting =
      await sql`SELECT id FROM documents WHERE bucket_id = ${bucketId} AND status = 'deleting' ORDER BY id`;
    expect(deleting.map((row) => row['id'])).toEqual(ids.slice(0, visible));
  });
});
