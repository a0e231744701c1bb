import type { ReprojectPlan } from '../ingest/reindex/plan-reprojection.ts';
import type { ReembedReply } from '../ingest/reindex/reembed-job.ts';
import type { ReprojectReport } from '../ingest/reindex/reindex-bucket.ts';
import { openProgress } from './progress.ts';

/** Render a plan in the shape of the report of a run, as the answer of a dry run. */
export function viewOfPlan(plan: ReprojectPlan): ReprojectReport & { dry_run: true } {
  return {
    ...{
      bucket_id: plan.bucketId,
      models: plan.targets.map(({ id }) => id),
      space: plan.origin.space,
      mode: plan.mode,
    },
    map_versions: plan.targets.map(({ mapVersion }) => mapVersion),
    ...{ documents: plan.documents, chunks: plan.chunks, dry_run: true },
  };
}

const MODES = {
  in_place: 'documents are converted batch by batch',
  new_table: 'a new index is built beside the present one, which is searched until the new one is complete',
} as const;

/** Describe a run before it begins. */
export function describeReprojection({ bucketName, targets, origin, mode, documents, chunks }: ReprojectPlan): string {
  const maps = targets.map(({ id, mapVersion }) => `map ${mapVersion} of ${id}`).join(', ');
  if (mode === 'nothing') return `bucket ${bucketName}: nothing to do, its vectors went through ${maps}`;
  return `bucket ${bucketName}: ${documents} documents, ${chunks} chunks to ${origin.space} by ${maps}; ${MODES[mode]}`;
}

/** Run a reprojection with a progress bar. */
export async function showReprojection(
  plan: ReprojectPlan,
  run: (onProgress: (done: number) => void) => Promise<ReprojectReport>,
): Promise<ReprojectReport> {
  const progress = await openProgress();
  try {
    if (plan.mode !== 'nothing') progress.begin('projecting chunks', plan.chunks);
    return await run((done) => progress.update(done));
  } finally {
    progress.close();
  }
}

/** Describe what embedding a bucket anew will do, before it begins. */
export function describeReembed(bucket: string, plan: ReembedReply): string {
  const { from_model, model, documents, chunks, texts, tokens, estimated_cost } = plan;
  const cost = estimated_cost > 0 ? `, about ${estimated_cost.toFixed(2)} at the configured price` : '';
  const work =
    texts === 0 ? 'no text is sent, their vectors are stored' : `${texts} texts, about ${tokens} tokens${cost}`;
  const parts = `${documents} ${documents === 1 ? 'document' : 'documents'}, ${chunks} ${chunks === 1 ? 'chunk' : 'chunks'}`;
  return `bucket ${bucket}: ${parts} from ${from_model} to ${model}; ${work}`;
}
