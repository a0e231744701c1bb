import type { Caller } from '../access/caller.ts';
import type { Appliance } from '../appliance/appliance.ts';
import { findBucket } from '../documents/buckets.ts';
import { sampleChunks } from '../ingest/sample-chunks.ts';
import type { CalibrationText } from '../projection/calibration.ts';
import { readCorpusFile } from '../projection/corpus/read-corpus-file.ts';
import type { FitPlan, FitSummary } from '../projection/fit-projection.ts';
import { note } from './output.ts';
import { openProgress } from './progress.ts';

interface CorpusFlags {
  readonly corpus?: string | undefined;
  readonly 'from-bucket'?: string | undefined;
  readonly pairs: number;
}

/**
 * Read the texts that the flags name. Return null to use the texts of the space or the built-in texts. Alternate texts
 * without a kind between passages and queries, so that asymmetric models are aligned on both.
 */
export async function readCalibration(
  { sql, objects }: Pick<Appliance, 'sql' | 'objects'>,
  operator: Caller,
  flags: CorpusFlags,
): Promise<CalibrationText[] | null> {
  const kindAt = (index: number) => (index % 2 === 0 ? 'passage' : 'query');
  if (flags.corpus !== undefined) {
    const lines = await readCorpusFile(flags.corpus);
    return lines.map(({ text, kind }, index) => ({ text, kind: kind ?? kindAt(index) }));
  }
  const bucketRef = flags['from-bucket'];
  if (bucketRef === undefined) return null;
  const bucket = await findBucket(sql, operator, bucketRef);
  const texts = await sampleChunks({ sql, objects }, operator.orgId, bucket.id, flags.pairs);
  return texts.map((text, index) => ({ text, kind: kindAt(index) }));
}

/** Describe the cost of a fit before it begins. */
export function describePlan({ texts, textsToEmbed, tokens, cost, model }: FitPlan): string {
  const price = cost > 0 ? `, ${cost.toFixed(4)} at the configured price` : '';
  return `${model.id}: ${texts.length} pairs, ${textsToEmbed} texts to embed, about ${tokens} tokens${price}`;
}

/** Run a fit with a progress bar. */
export async function showFit(
  plan: FitPlan,
  run: (onProgress: (embedded: number | null) => void) => Promise<FitSummary>,
): Promise<FitSummary> {
  const progress = await openProgress();
  try {
    progress.begin('embedding', plan.textsToEmbed);
    return await run((embedded) => {
      if (embedded !== null) return progress.update(embedded);
      progress.close();
      note('fitting and measuring; this may take two minutes');
    });
  } finally {
    progress.close();
  }
}
