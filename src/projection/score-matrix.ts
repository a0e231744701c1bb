import { z } from 'zod';
import type { Sql } from '../platform/postgres.ts';
import type { DimensionScores, Evaluation } from './fit/evaluate-map.ts';
import { INDEX_DIMENSIONS } from './resize.ts';
import { Grade, type MapRecord, SPACE_ID } from './schema.ts';
import { selectActiveMaps, selectSpace } from './store.ts';

const share = z.number().min(0).max(1);

/** Response of `GET /v1/projections/matrix`. */
export const ScoreMatrix = z
  .object({
    object: z.literal('projection_matrix'),
    space: z.string(),
    reference_model: z.string().nullable().describe('null until a first model is fitted'),
    dimensions: z.int().describe('dimensions at which the scores were measured'),
    models: z.array(
      z.object({
        model: z.string(),
        is_reference: z.boolean(),
        map_version: z.int(),
        score: share.nullable(),
        grade: Grade,
        is_stale: z.boolean().describe('the vendor has changed the model since'),
      }),
    ),
    cells: z
      .array(
        z.object({
          query_model: z.string(),
          document_model: z.string(),
          recall_at_1: share.nullable(),
          recall_at_10: share.nullable(),
          overlap_at_10: share.nullable(),
        }),
      )
      .describe(
        'scores of searches across models on held-out texts; null for a pair that was measured only through the reference model',
      ),
  })
  .meta({ id: 'ProjectionMatrix' });
export type ScoreMatrix = z.output<typeof ScoreMatrix>;

/** Read the scores of the maps in use as a matrix of query models by document models. */
export async function readScoreMatrix(sql: Sql): Promise<ScoreMatrix> {
  const [space, maps] = [await selectSpace(sql, SPACE_ID), await selectActiveMaps(sql)];
  const reference = space?.referenceModel ?? null;
  const known = maps.toSorted((a, b) => rank(b) - rank(a) || (a.model < b.model ? -1 : 1));
  const scores = new Map(known.map((map) => [map.model, atIndex(map)]));
  const cells = known.flatMap((query) =>
    known.filter((documents) => documents !== query).map((documents) => cellOf(query.model, documents.model)),
  );
  return {
    object: 'projection_matrix',
    space: SPACE_ID,
    reference_model: reference,
    dimensions: INDEX_DIMENSIONS,
    models: known.map((map) => ({
      model: map.model,
      is_reference: map.model === reference,
      map_version: map.version,
      score: map.score,
      grade: map.grade,
      is_stale: map.staleAt !== null,
    })),
    cells,
  };

  function rank({ model }: MapRecord): number {
    return model === reference ? 1 : 0;
  }

  function cellOf(query: string, documents: string): ScoreMatrix['cells'][number] {
    // Maps are measured against the reference model's vectors, in both directions.
    const measured = documents === reference ? scores.get(query) : query === reference ? scores.get(documents) : null;
    const way = documents === reference ? 'forward' : 'backward';
    return {
      query_model: query,
      document_model: documents,
      recall_at_1: measured?.recallAt1[way] ?? null,
      recall_at_10: measured?.recallAt10[way] ?? null,
      overlap_at_10: measured?.overlapAt10[way] ?? null,
    };
  }
}

function atIndex({ scores }: MapRecord): DimensionScores | null {
  const evaluation = scores as Partial<Evaluation> | null;
  return evaluation?.scores?.find(({ dimensions }) => dimensions === INDEX_DIMENSIONS) ?? null;
}
