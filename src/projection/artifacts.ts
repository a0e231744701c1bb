import type { Objects } from '../platform/objects/objects.ts';
import type { CalibrationText } from './calibration.ts';
import type { CanonicalSpace } from './fit/create-space.ts';
import type { FittedMap } from './fit/project-rows.ts';
import { readFloatArtifact, writeFloatArtifact } from './float-artifact.ts';
import { packPanels } from './kernel/pack-panels.ts';
import { type MapRecord, SPACE_DIMENSIONS, type SpaceRecord } from './schema.ts';

/** Canonical space, with the texts of its frozen vectors. */
export interface StoredSpace {
  readonly space: CanonicalSpace;
  readonly texts: readonly CalibrationText[];
}

interface SpaceHeader {
  readonly nativeDimension: number;
  readonly rank: number;
  readonly texts: readonly CalibrationText[];
}

export async function writeSpace(objects: Objects, key: string, { space, texts }: StoredSpace): Promise<Buffer> {
  const { nativeDimension, rank, mean, rotation, corpus } = space;
  return writeFloatArtifact<SpaceHeader>(objects, key, {
    header: { nativeDimension, rank, texts },
    arrays: { mean, rotation, corpus },
  });
}

/** @throws AppError `artifact_corrupt` (500) */
export async function readSpace(objects: Objects, record: SpaceRecord): Promise<StoredSpace> {
  const { header, arrays } = await readFloatArtifact<SpaceHeader>(objects, record.objectKey, record.sha256);
  const { nativeDimension, rank, texts } = header;
  const { mean, rotation, corpus } = arrays as Record<'mean' | 'rotation' | 'corpus', Float32Array>;
  return { space: { dimensions: SPACE_DIMENSIONS, nativeDimension, rank, mean, rotation, corpus }, texts };
}

export interface MapHeader {
  readonly space: string;
  readonly model: string;
  readonly revision: string;
  readonly nativeDimension: number;
  readonly rank: number;
  readonly method: FittedMap['method'];
  /** SHA-256 of the object with the map's pairs, in hexadecimal. */
  readonly pairsSha256: string;
  /** Texts for detecting a change of the vendor's model. Their native vectors are the array `canaries`. */
  readonly canaries: readonly CalibrationText[];
}

export async function writeMap(
  objects: Objects,
  key: string,
  header: Pick<MapHeader, 'space' | 'model' | 'revision' | 'canaries' | 'pairsSha256'>,
  map: FittedMap,
  canaries: Float32Array,
): Promise<Buffer> {
  const { nativeDimension, rank, method, mean, weights } = map;
  return writeFloatArtifact<MapHeader>(objects, key, {
    header: { ...header, nativeDimension, rank, method },
    arrays: { mean, packed: packPanels(weights, nativeDimension, rank), canaries },
  });
}

export interface StoredMap {
  readonly header: MapHeader;
  /** Float32Array [nativeDimension] */
  readonly mean: Float32Array;
  /** Weights [nativeDimension x rank], laid out by `packPanels`. */
  readonly packed: Float32Array;
  /** Float32Array [canaries x nativeDimension] */
  readonly canaries: Float32Array;
}

/** @throws AppError `artifact_corrupt` (500) */
export async function readMap(objects: Objects, record: MapRecord): Promise<StoredMap> {
  const { header, arrays } = await readFloatArtifact<MapHeader>(objects, record.objectKey, record.sha256);
  const { mean, packed, canaries } = arrays as Record<'mean' | 'packed' | 'canaries', Float32Array>;
  return { header, mean, packed, canaries };
}

interface PairsHeader {
  readonly texts: readonly CalibrationText[];
}

/** Pairs of a fitted map, for re-evaluation without any call: [n x nativeDimension], [n x rank]. */
export interface StoredPairs {
  readonly texts: readonly CalibrationText[];
  readonly vectors: Float32Array;
  readonly canonical: Float32Array;
}

export const pairsKey = (version: number) => `projections/pairs/${version}`;

export async function writePairs(objects: Objects, version: number, pairs: StoredPairs): Promise<Buffer> {
  const { texts, vectors, canonical } = pairs;
  return writeFloatArtifact<PairsHeader>(objects, pairsKey(version), {
    header: { texts },
    arrays: { vectors, canonical },
  });
}

/** @throws AppError `artifact_corrupt` (500) */
export async function readPairs(objects: Objects, version: number, sha256: string): Promise<StoredPairs> {
  const bytes = Buffer.from(sha256, 'hex');
  const { header, arrays } = await readFloatArtifact<PairsHeader>(objects, pairsKey(version), bytes);
  const { vectors, canonical } = arrays as Record<'vectors' | 'canonical', Float32Array>;
  return { texts: header.texts, vectors, canonical };
}
