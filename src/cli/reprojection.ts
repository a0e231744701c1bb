import type { ReprojectReport } from '../ingest/reproject-bucket.ts';
import type { ReprojectPlan } from '../ingest/reproject-plan.ts';
import { openProgress } from './progress.ts';

/** Render a plan in the shape of the report of a run, as the answer of a dry run. */
export function viewOfPlan(plan: ReprojectPlan): ReprojectReport & { dry_run: true } {
  return {
    ...{ bucket_id: plan.bucketId, models: plan.targets.map(({ id }) => id), space: plan.space, mode: plan.mode },
    map_versions: plan.targets.map(({ mapVersion }) => mapVersion),
    ...{ documents: plan.documents, chunks: plan.chunks, dry_run: true },
  };
}

const MODES = {
  in_place: 'documents are converted batch by batch',
  new_table: 'a new index is built beside the present one, which is searched until the new one is complete',
} as const;

/** Describe a run before it begins. */
export function describeReprojection({ bucketName, targets, space, mode, documents, chunks }: ReprojectPlan): string {
  const maps = targets.map(({ id, mapVersion }) => `map ${mapVersion} of ${id}`).join(', ');
  if (mode === 'nothing') return `bucket ${bucketName}: nothing to do, its vectors were made with ${maps}`;
  return `bucket ${bucketName}: ${documents} documents, ${chunks} chunks to ${space} by ${maps}; ${MODES[mode]}`;
}

/** Run a reprojection with a progress bar. */
export async function showReprojection(
  plan: ReprojectPlan,
  run: (onProgress: (done: number, total: number) => void) => Promise<ReprojectReport>,
): Promise<ReprojectReport> {
  const progress = await openProgress();
  try {
    if (plan.mode !== 'nothing') progress.begin('projecting chunks', plan.chunks);
    return await run((done) => progress.update(done));
  } finally {
    progress.close();
  }
}
