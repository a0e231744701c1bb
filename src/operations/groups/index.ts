import { z } from 'zod';
import { findBucket } from '../../documents/buckets.ts';
import { getVisibleJob } from '../../documents/job-documents.ts';
import { queueReembed } from '../../ingest/reindex/reembed-job.ts';
import { listIndexStats } from '../../search/index-stats.ts';
import { countReindexedChunks } from '../../search/reindex-store.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';

/** Queue a job that embeds a bucket by another model, or with `dry_run` only plan it. */
export const reembed = forOrganization(
  z.object({ bucket: z.string(), model: z.string().optional(), dry_run: z.boolean() }),
  ({ dry_run: dryRun, ...request }, { appliance, operator }) =>
    queueReembed(appliance.ingest.reembed, operator, request, { dryRun }),
);

/** Count the chunks that a job of the index has done; null before it has begun. */
export const progress = forOrganization(
  z.object({ job: z.string() }),
  async ({ job }, { appliance: { sql }, operator }) => {
    const { id } = await getVisibleJob(sql, operator, job);
    return (await countReindexedChunks(sql, [id])).get(id) ?? null;
  },
);

export const stats = forOrganization(
  z.object({ bucket: z.string().optional() }),
  async ({ bucket }, { appliance, operator }) =>
    listPage(await listIndexStats(appliance.search, operator.orgId, bucket ?? null)),
);

export const optimize = forOrganization(
  z.object({ bucket: z.string() }),
  async ({ bucket }, { appliance, operator, signal }) => {
    const { id, name } = await findBucket(appliance.sql, operator.orgId, bucket);
    const beganMs = performance.now();
    await appliance.ingest.reindex.index.optimize(id, signal);
    return { bucket_id: id, name, duration_ms: Math.round(performance.now() - beganMs) };
  },
);
