import { afterAll, beforeAll, expect, it } from 'vitest';
import { getVisibleJob } from '../../src/documents/job-documents.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { reprocessJob } from '../../src/jobs/operations.ts';
import { editDocuments } from '../../src/metadata/edit-documents.ts';
import { BulkEdit } from '../../src/metadata/schema.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';
import { waitingBackends } from '../support/waiting-backends.ts';

let test: TestAppliance;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());

async function upload(text: string): Promise<{ id: string; job: string }> {
  const content = { bytes: Buffer.from(text), fileName: 'heron.txt', contentType: null };
  const reply = await uploadDocument(
    test.appliance.ingest.uploads,
    test.operator,
    'default',
    content,
    UploadRequest.parse({}),
  );
  return { id: reply.id, job: reply.job_id as string };
}

function softDelete(id: string) {
  const statement = `SOFTDELETE FROM documents WHERE id = '${id}'`;
  return editDocuments(test.appliance.metadata, test.operator, 'default', BulkEdit.parse({ statement }));
}

async function documentOf(id: string) {
  const [row] = await test.appliance.sql`
    SELECT status, searchable, active_generation, chunks_count FROM documents WHERE id = ${id}`;
  return row;
}

async function withWorker(done: () => Promise<boolean>): Promise<void> {
  const worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  await until(done).finally(() => worker.stop());
}

const isReady = async (job: string) => (await getVisibleJob(test.appliance.sql, test.operator, job)).status === 'ready';

it('SOFTDELETE leaves no vectors, also if the document is processed again afterwards', async () => {
  const { id, job } = await upload('A heron that is taken out of search.');
  await withWorker(() => isReady(job));
  expect(await softDelete(id)).toMatchObject({ updated: 1, indexed_vectors_deleted: 1 });
  const again = await reprocessJob(test.appliance.jobs.operations, test.operator, job);
  await withWorker(() => isReady(again.id));
  expect(await documentOf(id)).toEqual({
    ...{ status: 'ready', searchable: false, active_generation: null, chunks_count: null },
  });
});

it('SOFTDELETE of a document whose job just finishes does not mark it as failed', async () => {
  const { sql } = test.appliance;
  const { id, job } = await upload('A heron whose job finishes.');
  let deletion: ReturnType<typeof softDelete> | undefined;
  await sql.begin(async (tx) => {
    await tx`UPDATE jobs SET status = 'ready' WHERE id = ${job}`;
    await tx`UPDATE documents SET status = 'ready' WHERE id = ${id}`;
    deletion = softDelete(id);
    await until(async () => (await waitingBackends(sql)).length > 0, { what: 'its wait' });
  });
  expect(await deletion).toMatchObject({ updated: 1 });
  expect(await documentOf(id)).toMatchObject({ status: 'ready', searchable: false });
});
