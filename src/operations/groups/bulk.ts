import { Readable } from 'node:stream';
import { z } from 'zod';
import { hasLiveWorker } from '../../appliance/live-workers.ts';
import { cancelBulkJob, getBulkJob } from '../../bulk/bulk-jobs.ts';
import { findReadyJob, readResult, renderResultPage } from '../../bulk/result-page.ts';
import { BulkRequest, ResultQuery } from '../../bulk/schema.ts';
import { submitBulkJob } from '../../bulk/submit-bulk.ts';
import { AppError, conflict } from '../../platform/errors.ts';
import { forOrganization, WithBody } from '../operation.ts';

const Id = z.object({ id: z.string() });

/** Queue a job. The output also says if a worker is alive. */
export const submit = forOrganization(
  BulkRequest,
  async (request, { appliance, operator, signal }) => {
    const submitted = await submitBulkJob(appliance.bulk, operator, request, signal);
    return { ...submitted, hasWorker: await hasLiveWorker(appliance, 'bulk') };
  },
  ['bulk'],
);

export const status = forOrganization(Id, ({ id }, { appliance, operator }) => getBulkJob(appliance.sql, operator, id));

/** Cancel a queued job. @throws AppError `job_not_queued` (409) */
export const cancel = forOrganization(Id, ({ id }, { appliance, operator }) =>
  cancelBulkJob(appliance.sql, operator, id).catch((error: unknown) => {
    // A 400 would count as wrong usage on the command line, although the command is correct.
    if (error instanceof AppError && error.code === 'job_not_queued') throw conflict(error.message, error.code);
    throw error;
  }),
);

/** Render a page of the result as the JSON text of the API. */
export const page = forOrganization(
  ResultQuery.extend(Id.shape),
  async ({ id, ...query }, { appliance, operator }) => ({
    json: Buffer.from(await renderResultPage(appliance.bulk, operator, id, query)).toString(),
  }),
  ['bulk'],
);

/** Read all vectors of a finished job. The bytes are float32 [n x d], row-major, little-endian. */
export const vectors = forOrganization(
  Id,
  async ({ id }, { appliance: { bulk }, operator }) => {
    const job = await findReadyJob(bulk, operator, id);
    const about = { id: job.id, status: job.status, count: job.inputCount, dimensions: job.vectorDimensions };
    return new WithBody(about, Readable.from(bytesOf(readResult(bulk, job)), { objectMode: false }));
  },
  ['bulk'],
);

async function* bytesOf(rows: ReturnType<typeof readResult>): AsyncGenerator<Uint8Array> {
  for await (const { vectors } of rows) yield Buffer.from(vectors.buffer, vectors.byteOffset, vectors.byteLength);
}
