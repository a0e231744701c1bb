import type { Model } from '../models/catalog.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { readMap } from './artifacts.ts';
import type { EmbedNative } from './calibration.ts';
import type { MapRecord } from './schema.ts';
import { recordCanaries, selectActiveMaps } from './store.ts';

/** Cosine below which the vendor's model counts as changed since the fit. */
const COSINE_MIN = 0.999;

export interface CanaryResult {
  readonly model: string;
  readonly version: number;
  /** Lowest cosine, over all canaries, between the current native vector and that at the time of the fit. */
  readonly leastCosine: number;
  readonly isStale: boolean;
}

export interface CanaryContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly logger: Logger;
  readonly embed: EmbedNative;
  readonly findModel: (id: string) => Model;
  /** Return true if a provider is configured for the model. */
  readonly isServed: (model: Model) => boolean;
}

/**
 * Re-embed the canaries of active maps that were not checked for `olderThanMs`. Mark a map as stale if the vendor has
 * changed the model. If a provider is down, the next check retries it.
 */
export async function checkCanaries(
  context: CanaryContext,
  options: { olderThanMs: number; signal: AbortSignal },
): Promise<CanaryResult[]> {
  const results: CanaryResult[] = [];
  for (const record of await selectActiveMaps(context.sql)) {
    options.signal.throwIfAborted();
    if (record.checkedAt && Date.now() - record.checkedAt.getTime() < options.olderThanMs) continue;
    try {
      const model = context.findModel(record.model);
      const isSameModel = model.revision === record.modelRevision && model.nativeDimension === record.nativeDimension;
      if (!context.isServed(model) || !isSameModel) continue;
      results.push(await checkMap(context, record, model, options.signal));
    } catch (error) {
      options.signal.throwIfAborted();
      context.logger.warn(
        { err: error, model: record.model },
        'the canaries of a projection could not be checked; the check is repeated later',
      );
    }
  }
  return results;
}

async function checkMap(
  { sql, objects, logger, embed }: CanaryContext,
  record: MapRecord,
  model: Model,
  signal: AbortSignal,
): Promise<CanaryResult> {
  const { header, canaries } = await readMap(objects, record);
  const k = model.nativeDimension;
  let leastCosine = 1;
  for (const kind of ['query', 'passage'] as const) {
    const rows = header.canaries.flatMap((canary, row) => (canary.kind === kind ? [row] : []));
    if (rows.length === 0) continue;
    const texts = rows.map((row) => header.canaries[row]?.text ?? '');
    const taskType = kind === 'query' ? 'retrieval_query' : 'retrieval_document';
    const vectors = await embed({ model, texts, taskType, signal });
    for (const [at, row] of rows.entries()) {
      const now = vectors.subarray(at * k, (at + 1) * k);
      leastCosine = Math.min(leastCosine, cosine(now, canaries.subarray(row * k, (row + 1) * k)));
    }
  }
  const isStale = leastCosine < COSINE_MIN;
  await recordCanaries(sql, record.version, isStale);
  if (isStale) {
    logger.warn(
      { model: model.id, map: record.version, cosine: leastCosine },
      'the vendor has changed the model since its projection was fitted; run "service projections fit" again',
    );
  }
  return { model: model.id, version: record.version, leastCosine, isStale };
}

function cosine(a: Float32Array, b: Float32Array): number {
  let dot = 0;
  let aa = 0;
  let bb = 0;
  for (let i = 0; i < a.length; i++) {
    const x = a[i] as number;
    const y = b[i] as number;
    dot += x * y;
    aa += x * x;
    bb += y * y;
  }
  return dot / Math.sqrt(aa * bb);
}
