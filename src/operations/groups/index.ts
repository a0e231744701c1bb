import { z } from 'zod';
import { findBucket } from '../../documents/buckets.ts';
import { getVisibleJob } from '../../documents/job-documents.ts';
import { Engine } from '../../documents/schema.ts';
import { listIndexStats } from '../../index/index-stats.ts';
import { selectLiveGroups } from '../../index/index-store.ts';
import { countReindexedChunks } from '../../index/writing/reindex-store.ts';
import { rehearsalContext, rehearseSwitch } from '../../ingest/rehearsal/rehearse-switch.ts';
import { RehearsalBody } from '../../ingest/rehearsal/schema.ts';
import { queueMove } from '../../ingest/reindex/move-job.ts';
import { planReprojection } from '../../ingest/reindex/plan-reprojection.ts';
import { queueReembed } from '../../ingest/reindex/reembed-job.ts';
import { type ReprojectReport, rebuildIndex, reprojectBucket } from '../../ingest/reindex/reindex-bucket.ts';
import { importVectors as importRows } from '../../ingest/vectors/import-vectors.ts';
import { ImportRequest } from '../../ingest/vectors/schema.ts';
import { listPage } from '../list-page.ts';
import { forOrganization, WithBody } from '../operation.ts';
import { streamProgress } from '../progress-lines.ts';

const Reprojection = z.object({ bucket: z.string(), models: z.array(z.string()) });

/** Queue a job that embeds a bucket with another model, or with `dry_run` only plan it. */
export const reembed = forOrganization(
  z.object({ bucket: z.string(), model: z.string().optional(), dry_run: z.boolean() }),
  ({ dry_run: dryRun, ...request }, { appliance, operator }) =>
    queueReembed(appliance.ingest.reembed, operator, request, { dryRun }),
  ['ingest'],
);

/** Queue a job that moves the index of a bucket to another engine, or with `dry_run` only plan it. */
export const move = forOrganization(
  z.object({ bucket: z.string(), engine: Engine, dry_run: z.boolean() }),
  ({ dry_run: dryRun, ...request }, { appliance, operator }) =>
    queueMove(appliance.ingest.reembed, operator, request, { dryRun }),
  ['ingest'],
);

/**
 * Compare another model with a bucket's current one. The body is the progress in chunks and the report (`Rehearsal`).
 */
export const rehearse = forOrganization(
  RehearsalBody.extend({ bucket: z.string() }),
  async ({ bucket, ...request }, { appliance, operator, signal, closing }) => {
    const { id } = await findBucket(appliance.sql, operator, bucket);
    const groups = await selectLiveGroups(appliance.sql, operator.orgId, id);
    const all = groups.reduce((sum, { chunks }) => sum + chunks, 0);
    const body = streamProgress(
      (onProgress, ended) =>
        rehearseSwitch(rehearsalContext(appliance), operator, id, request, { signal: ended, onProgress }),
      AbortSignal.any([signal, closing]),
    );
    return new WithBody({ chunks: Math.min(request.sample, all) }, body);
  },
  ['ingest', 'search'],
);

/** Import vectors of a model, or with `dry_run` only check them. */
export const importVectors = forOrganization(
  ImportRequest.extend({ bucket: z.string() }),
  ({ bucket, ...request }, { appliance, operator }) => importRows(appliance.ingest.imports, operator, bucket, request),
  ['ingest'],
);

/** Count the chunks that an index job has processed. Return null before it begins. */
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
    listPage(await listIndexStats(appliance.search, operator, bucket ?? null)),
  ['search'],
);

export const optimize = forOrganization(
  z.object({ bucket: z.string() }),
  async ({ bucket }, { appliance, operator, signal }) => {
    const { id, name } = await findBucket(appliance.sql, operator, bucket);
    const beganMs = performance.now();
    await appliance.ingest.reindex.index.optimize(id, signal);
    return { bucket_id: id, name, duration_ms: Math.round(performance.now() - beganMs) };
  },
  ['ingest'],
);

/** Rebuild a bucket's index. The body is the progress in chunks and the report (`RebuildReport`). */
export const rebuild = forOrganization(
  z.object({ bucket: z.string(), leave_out_damaged: z.boolean().optional() }),
  async ({ bucket, leave_out_damaged: leaveOutDamaged = false }, { appliance, operator, signal, closing }) => {
    const { sql, ingest } = appliance;
    const { id } = await findBucket(sql, operator, bucket);
    const groups = await selectLiveGroups(sql, operator.orgId, id);
    const body = streamProgress(
      (onProgress, ended) => rebuildIndex(ingest.reindex, operator, id, { leaveOutDamaged, signal: ended, onProgress }),
      AbortSignal.any([signal, closing]),
    );
    return new WithBody({ chunks: groups.reduce((sum, { chunks }) => sum + chunks, 0) }, body);
  },
  ['ingest'],
);

/** Plan a reprojection. The plan has the shape of a run's report. */
export const planReproject = forOrganization(
  Reprojection,
  async (request, { appliance, operator }) => {
    // Another process may have just fitted the map.
    await appliance.projections.refresh();
    const { warnings, bucketId, bucketName, targets, origin, mode, documents, chunks } = await planReprojection(
      appliance.ingest.reindex,
      operator,
      request,
    );
    const plan: ReprojectReport = {
      bucket_id: bucketId,
      models: targets.map(({ id }) => id),
      space: origin.space,
      mode,
      map_versions: targets.map(({ mapVersion }) => mapVersion),
      documents,
      chunks,
    };
    return { warnings, bucket_name: bucketName, plan };
  },
  ['ingest', 'projections'],
);

/** Convert a bucket's vectors. The body is the progress in chunks and the report (`ReprojectReport`). */
export const reproject = forOrganization(
  Reprojection,
  async (request, { appliance: { ingest }, operator, signal, closing }) =>
    new WithBody(
      {},
      streamProgress(
        (onProgress, ended) => reprojectBucket(ingest.reindex, operator, request, { signal: ended, onProgress }),
        AbortSignal.any([signal, closing]),
      ),
    ),
  ['ingest'],
);
