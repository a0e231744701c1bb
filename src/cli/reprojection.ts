import type { Readable } from 'node:stream';
import type { ReembedReply } from '../ingest/reindex/reembed-job.ts';
import type { ReprojectReport } from '../ingest/reindex/reindex-bucket.ts';
import { readProgress } from '../operations/progress-lines.ts';
import { openProgress } from './progress.ts';

const MODES = {
  in_place: 'documents are converted batch by batch',
  new_table: 'a new index is built beside the present one, which is searched until the new one is complete',
} as const;

/** Describe a reprojection before it begins. */
export function describeReprojection(bucketName: string, plan: ReprojectReport): string {
  const { models, map_versions: versions, space, mode, documents, chunks } = plan;
  const maps = models.map((id, nth) => `map ${versions[nth]} of ${id}`).join(', ');
  if (mode === 'nothing') return `bucket ${bucketName}: nothing to do; its vectors already use ${maps}`;
  return `bucket ${bucketName}: ${documents} documents, ${chunks} chunks to ${space} by ${maps}; ${MODES[mode]}`;
}

/** Read the stream of a reprojection with a progress bar. @returns its report */
export async function showReprojection(
  plan: ReprojectReport,
  stream: Readable,
  signal: AbortSignal,
): Promise<ReprojectReport> {
  const progress = await openProgress();
  try {
    if (plan.mode !== 'nothing') progress.begin('projecting chunks', plan.chunks);
    return await readProgress<ReprojectReport>(stream, (done) => progress.update(done), signal);
  } finally {
    progress.close();
  }
}

/** Describe the re-embedding of a bucket before it begins. */
export function describeReembed(bucket: string, plan: ReembedReply): string {
  const { from_model, model, documents, chunks, texts, tokens, estimated_cost } = plan;
  const cost = estimated_cost > 0 ? `, about ${estimated_cost.toFixed(2)} at the configured price` : '';
  const work =
    texts === 0 ? 'no text is sent, their vectors are stored' : `${texts} texts, about ${tokens} tokens${cost}`;
  const parts = `${documents} ${documents === 1 ? 'document' : 'documents'}, ${chunks} ${chunks === 1 ? 'chunk' : 'chunks'}`;
  return `bucket ${bucket}: ${parts} from ${from_model} to ${model}; ${work}`;
}
