import type { Model } from '../models/catalog.ts';
import type { CalibrationState } from './auto/state-store.ts';

/** Loaded map of a model into the canonical latent space. */
export interface ActiveMap {
  /** Target space: `canon-v1`, … */
  readonly space: string;
  readonly version: number;
  /** Score on held-out texts, 0..1; null if the map was not evaluated. */
  readonly score: number | null;
  /** Number of axes that carry information. The rest are zero. */
  readonly rank: number;
  /**
   * @param native Float32Array [n x model.nativeDimension], row-major, rows of unit length
   * @returns Float32Array [n x dimensions], rows of unit length
   */
  project(native: Float32Array, dimensions: number, signal?: AbortSignal): Float32Array | Promise<Float32Array>;
}

/** Active maps by model. */
export interface Projections {
  mapOf(model: Model): ActiveMap | null;
  /** Return the state of automatic calibration, or null if none is running or postponed. */
  stateOf(model: Model): CalibrationState | null;
}

export const LEXICAL_SPACE = 'lexical-1';
/** Placeholder for the latent space of a generation without vectors, which only keyword search finds. */
export const KEYWORD_ONLY = 'keyword-only';
const NATIVE = 'native:';

/** Return the latent space of a model's vectors. Only vectors of the same space are comparable. */
export function spaceOf(projections: Projections, model: Model): string {
  return projections.mapOf(model)?.space ?? nativeSpaceOf(model);
}

/** Return the native space of a model, which contains its vectors before any map. */
export function nativeSpaceOf(model: Model): string {
  return model.kind === 'lexical' ? LEXICAL_SPACE : `${NATIVE}${model.id}@${model.revision}`;
}

/**
 * Find the map from a model's native space into another space.
 *
 * @returns null if `space` is the model's native space, so that no map is needed; undefined if there is no such map
 */
export function mapInto(projections: Projections, model: Model, space: string): ActiveMap | null | undefined {
  if (space === nativeSpaceOf(model)) return null;
  const map = projections.mapOf(model);
  return map?.space === space ? map : undefined;
}

/** Return the id of the model with this native space, or null for any other space. */
export function modelOfSpace(space: string): string | null {
  if (!space.startsWith(NATIVE)) return null;
  return space.slice(NATIVE.length, space.indexOf('@'));
}
