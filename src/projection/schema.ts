import { z } from 'zod';

export const SPACE_ID = 'canon-v1';
export const SPACE_DIMENSIONS = 4096;

export const FitMethod = z.enum(['procrustes', 'ridge']);
export type FitMethod = z.infer<typeof FitMethod>;

export const Grade = z.enum(['good', 'warn', 'fail', 'unknown']);
export type Grade = z.infer<typeof Grade>;

/** Record of the canonical space, frozen by the fit of its reference model. */
export interface SpaceRecord {
  readonly id: string;
  readonly dimensions: number;
  readonly referenceModel: string;
  readonly referenceRevision: string;
  readonly pairs: number;
  readonly objectKey: string;
  readonly sha256: Uint8Array;
}

/** Record of a map fitted for one revision of a model. */
export interface MapRecord {
  readonly version: number;
  readonly spaceId: string;
  readonly model: string;
  readonly modelRevision: string;
  readonly method: FitMethod;
  readonly nativeDimension: number;
  readonly rank: number;
  readonly pairs: number;
  readonly score: number | null;
  readonly scores: unknown;
  readonly grade: Grade;
  readonly status: 'inactive' | 'active' | 'retired';
  readonly staleAt: Date | null;
  readonly checkedAt: Date | null;
  readonly objectKey: string;
  readonly sha256: Uint8Array;
  readonly createdBy: string;
  readonly createdAt: Date;
}

/** Output of a map in commands. */
export const MapView = z.object({
  version: z.int(),
  model: z.string(),
  model_revision: z.string(),
  space: z.string(),
  status: z.enum(['inactive', 'active', 'retired', 'stale']),
  method: FitMethod,
  pairs: z.int(),
  native_dimension: z.int(),
  rank: z.int(),
  score: z.number().nullable(),
  grade: Grade,
  created_at: z.iso.datetime(),
  checked_at: z.iso.datetime().nullable(),
});
export type MapView = z.output<typeof MapView>;

/** Output of a map with its full evaluation. */
export const MapDetails = MapView.extend({
  scores: z.unknown().describe('evaluation on held-out texts, by dimension'),
}).meta({ id: 'Projection' });
export type MapDetails = z.output<typeof MapDetails>;

export function viewOfMap(map: MapRecord): MapView {
  return {
    version: map.version,
    model: map.model,
    model_revision: map.modelRevision,
    space: map.spaceId,
    status: map.staleAt !== null && map.status === 'active' ? 'stale' : map.status,
    method: map.method,
    pairs: map.pairs,
    native_dimension: map.nativeDimension,
    rank: map.rank,
    score: map.score,
    grade: map.grade,
    created_at: map.createdAt.toISOString(),
    checked_at: map.checkedAt?.toISOString() ?? null,
  };
}
