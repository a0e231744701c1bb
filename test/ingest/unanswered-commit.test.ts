import { afterAll, beforeAll, expect, test } from 'vitest';
import { packTexts } from '../../src/bulk/input.ts';
import { submitBulkJob } from '../../src/bulk/submit-bulk.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { UploadStatements } from '../../src/ingest/upload-store.ts';
import { openPostgres, type Sql } from '../../src/platform/postgres.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { openPostgresInterceptor } from '../support/postgres-interceptor.ts';

let appliance: TestAppliance;
beforeAll(async () => {
  appliance = await openTestAppliance();
});
afterAll(() => appliance.close());

/** Run `fn` on a pool whose connections are cut once PostgreSQL has done a statement, before the client knows. */
async function withLostAnswer(statement: RegExp, fn: (sql: Sql) => Promise<unknown>): Promise<void> {
  const interceptor = await openPostgresInterceptor(appliance.connection);
  const sql = openPostgres(interceptor.connection, { poolMax: 3, applicationName: 'test' });
  try {
    interceptor.listener = ({ text }, moment) => {
      if (moment === 'before' || !statement.test(text.trim())) return null;
      interceptor.listener = null;
      void interceptor.close();
      return Promise.withResolvers<void>().promise;
    };
    await expect(fn(sql)).rejects.toMatchObject({});
  } finally {
    await sql.end({ timeout: 0 });
  }
}

function upload(sql: Sql, fileName: string, request: object): Promise<unknown> {
  const context = { ...appliance.appliance.ingest.uploads, sql, statements: new UploadStatements() };
  const content = { bytes: Buffer.from(`text of ${fileName}`), fileName, contentType: null };
  return uploadDocument(context, appliance.operator, 'default', content, UploadRequest.parse(request));
}

test.each([
  ['one statement', /INSERT INTO jobs/, {}],
  ['a transaction', /^commit/i, { on_duplicate: 'replace', source_path: 'notes.txt' }],
])('the bytes of an upload by %s stay if the database is lost before it answers', async (kind, statement, request) => {
  const fileName = `${kind}.txt`;
  await withLostAnswer(statement, (sql) => upload(sql, fileName, request));
  const { sql, objects } = appliance.appliance;
  const [document] = await sql`select object_key from documents where file_name = ${fileName}`;
  expect(await objects.head(document?.['object_key'] as string)).toMatchObject({ sizeBytes: expect.any(Number) });
});

test('the texts of a bulk job stay if the database is lost before it answers', async () => {
  const { sql, objects, bulk } = appliance.appliance;
  const request = { texts: packTexts(['one', 'two']) };
  await withLostAnswer(/^commit/i, (lost) =>
    submitBulkJob({ ...bulk, sql: lost }, appliance.operator, request, new AbortController().signal),
  );
  const [job] = await sql`select s3_key from jobs where kind = 'bulk'`;
  expect(await objects.head(job?.['s3_key'] as string)).not.toBeNull();
});

test('the bytes of an upload that is refused are deleted', async () => {
  const { objects } = appliance.appliance;
  const keysOf = async () => {
    const keys: string[] = [];
    for await (const { key } of objects.list('documents/')) keys.push(key);
    return keys;
  };
  const request = { on_duplicate: 'reject' };
  await upload(appliance.appliance.sql, 'refused.txt', request);
  const before = await keysOf();
  await expect(upload(appliance.appliance.sql, 'refused.txt', request)).rejects.toMatchObject({
    code: 'duplicate_document',
  });
  expect(await keysOf()).toEqual(before);
});
