import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { editBucket } from '../../src/documents/edit-bucket.ts';
import { BucketPolicy, EditBucket } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { runFor } from '../../src/platform/work-context.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';

let test: TestAppliance;
let bucketId: string;
let number = 0;
/** Name of a new bucket of each test. */
let name: string;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());
beforeEach(async () => {
  name = `bucket-${++number}`;
  const bucket = { name, policy: BucketPolicy.parse({ max_privacy_level: 5 }) };
  bucketId = (await createBucket(test.appliance.sql, test.operator, bucket)).id;
});

function upload(text: string, fields: object = {}, caller: Caller = test.operator, ref = name) {
  const content = { bytes: Buffer.from(text), fileName: `${text}.txt`, contentType: 'text/plain' };
  return uploadDocument(test.appliance.ingest.uploads, caller, ref, content, UploadRequest.parse(fields));
}

/** Documents of the bucket with their jobs, in the order in which the jobs are claimed. */
function written() {
  return test.appliance.sql`
    SELECT documents.id, documents.file_name, documents.privacy_level, jobs.id AS job_id, jobs.fair_rank,
           jobs.request_id, jobs.xmin::text AS transaction
    FROM documents JOIN jobs ON jobs.document_id = documents.id WHERE documents.bucket_id = ${bucketId}
    ORDER BY fair_rank`;
}

const texts = (count: number) => Array.from({ length: count }, (_, nth) => `text ${nth}`);

it('uploads that come at the same time share statements, and each gets its document, its job and a rank of its own', async () => {
  const replies = await Promise.all(
    texts(40).map((text, nth) =>
      runFor({ requestId: `req_${nth}`, jobId: null, orgId: null, span: null }, () => upload(text)),
    ),
  );
  const rows = await written();
  expect(replies.map(({ id, job_id, status }) => ({ id, job_id, status }))).toEqual(
    texts(40).map((text) => {
      const row = rows.find(({ file_name }) => file_name === `${text}.txt`);
      return { id: row?.['id'], job_id: row?.['job_id'], status: 'queued' };
    }),
  );
  expect(new Set(rows.map((row) => row['fair_rank'])).size).toBe(40);
  expect(new Set(rows.map((row) => row['transaction'])).size).toBeLessThan(40);
  for (const [nth, text] of texts(40).entries()) {
    expect(rows.find((row) => row['file_name'] === `${text}.txt`)?.['request_id']).toBe(`req_${nth}`);
  }
});

it('of uploads of the same bytes at the same time one makes a document, and the others are linked to it', async () => {
  const replies = await Promise.all(Array.from({ length: 8 }, () => upload('the same')));
  const rows = await written();
  expect(rows).toHaveLength(1);
  expect(new Set(replies.map(({ id }) => id))).toEqual(new Set([rows[0]?.['id']]));
  expect(replies.filter((reply) => reply.duplicate_of !== undefined)).toHaveLength(7);
});

it('of uploads that refuse duplicates one succeeds, and those that allow them make a document each', async () => {
  const refusing = await Promise.allSettled(
    Array.from({ length: 4 }, () => upload('once', { on_duplicate: 'reject' })),
  );
  expect(refusing.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const reasons = refusing.flatMap((each) => (each.status === 'rejected' ? [each.reason.code] : []));
  expect(reasons).toEqual(['duplicate_document', 'duplicate_document', 'duplicate_document']);
  await Promise.all(Array.from({ length: 4 }, () => upload('once', { on_duplicate: 'allow' })));
  expect(await written()).toHaveLength(5);
});

it('bytes of a document that the caller may not see make a document of its own', async () => {
  const { id } = await upload('hidden', { privacy_level: 5 });
  const low: Caller = { ...test.operator, authLevel: 2 };
  const own = await upload('hidden', {}, low);
  expect(own.duplicate_of).toBeUndefined();
  expect(own.id).not.toBe(id);
  expect((await upload('hidden', {}, low)).duplicate_of).toBe(own.id);
});

it('an upload of a path that a document has already is a document of its own, with a warning', async () => {
  const { id, warnings } = await upload('first', { source_path: 'a/b.txt' });
  expect(warnings).toEqual([]);
  expect((await upload('elsewhere', { source_path: 'a/c.txt' })).warnings).toEqual([]);
  const second = await upload('second', { source_path: 'a/b.txt' });
  expect(second.id).not.toBe(id);
  expect(second.warnings).toEqual([expect.stringContaining(`an older document with this source_path, ${id}`)]);
  const low: Caller = { ...test.operator, authLevel: 2 };
  await upload('hidden', { source_path: 'a/d.txt', privacy_level: 5 });
  expect((await upload('seen', { source_path: 'a/d.txt' }, low)).warnings).toEqual([]);
});

it('an upload follows a change of the policy, and of the name, of a bucket that it has seen', async () => {
  const { sql } = test.appliance;
  await upload('before');
  await editBucket(sql, test.operator, name, EditBucket.parse({ policy: { max_privacy_level: 3 } }));
  const { id, warnings } = await upload('after', { privacy_level: 5 });
  expect(warnings).toEqual(['privacy_level was lowered from 5 to 3 by policy']);
  expect((await written()).find((row) => row['id'] === id)?.['privacy_level']).toBe(3);

  await editBucket(sql, test.operator, name, EditBucket.parse({ name: `${name}-renamed` }));
  await expect(upload('by the old name')).rejects.toMatchObject({ code: 'bucket_not_found' });
  const other = await createBucket(sql, test.operator, { name, policy: BucketPolicy.parse({}) });
  expect((await upload('into the new one')).bucket_id).toBe(other.id);
});

it('an upload into a deleted bucket is refused, and its bytes are removed', async () => {
  const { sql, objects } = test.appliance;
  await upload('before');
  await sql`DELETE FROM documents WHERE bucket_id = ${bucketId}`;
  await sql`DELETE FROM buckets WHERE id = ${bucketId}`;
  const keys = async () => {
    const found: string[] = [];
    for await (const { key } of objects.list('documents/')) found.push(key);
    return found;
  };
  const stored = await keys();
  await expect(upload('after')).rejects.toMatchObject({ code: 'bucket_not_found' });
  expect(await keys()).toEqual(stored);
});

it('an upload waits for a change of its bucket that is in progress, and follows it', async () => {
  const { sql } = test.appliance;
  await upload('before');
  const { uploading } = await sql.begin(async (tx) => {
    await tx`UPDATE buckets SET policy = policy || '{"max_privacy_level": 2}' WHERE id = ${bucketId}`;
    const started = upload('meanwhile', { privacy_level: 5 });
    await until(async () => {
      const [row] = await tx`
        SELECT count(*)::int AS waiting FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid`;
      return row?.['waiting'] === 1;
    });
    return { uploading: started };
  });
  expect((await uploading).warnings).toEqual(['privacy_level was lowered from 5 to 2 by policy']);
});

it('text of a document that is not well-formed Unicode is stored with replacement characters', async () => {
  const content = { bytes: Buffer.from('x'), fileName: 'x.txt', contentType: 'text/\ud800' };
  const uploads = test.appliance.ingest.uploads;
  const { id } = await uploadDocument(uploads, test.operator, name, content, UploadRequest.parse({}));
  const [row] = await test.appliance.sql`SELECT content_type FROM documents WHERE id = ${id}`;
  expect(row?.['content_type']).toBe('text/\ufffd');
});
