import type { Model } from '../models/catalog.ts';

/** Loaded map of a model into the canonical latent space. */
export interface ActiveMap {
  /** `canon-v1`, … */
  readonly space: string;
  readonly version: number;
  /** Score on held-out texts, 0..1; null if the map was not evaluated. */
  readonly score: number | null;
  /** Axes that carry information; further ones are zero. */
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
}

export const LEXICAL_SPACE = 'lexical-1';
const NATIVE = 'native:';

/** Return the latent space of a model's vectors. Only vectors of one space can be compared. */
export function spaceOf(projections: Projections, model: Model): string {
  const map = projections.mapOf(model);
  if (map) return map.space;
  if (model.kind === 'lexical') return LEXICAL_SPACE;
  return `${NATIVE}${model.id}@${model.revision}`;
}

/** Return the id of the model whose native space this is; null if it is not a native space. */
export function modelOfSpace(space: string): string | null {
  if (!space.startsWith(NATIVE)) return null;
  return space.slice(NATIVE.length, space.indexOf('@'));
}
