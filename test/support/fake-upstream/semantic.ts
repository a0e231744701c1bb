import { syntheticVectors } from '../synthetic-models.ts';
import { vectorOf } from './vectors.ts';

const NOISE = 0.05;

/**
 * The vector of a bag of words, in axes and with a mean of the model's own, and some noise: models can be aligned, and
 * texts with words in common are near each other in all of them.
 *
 * @returns Float32Array [dimensions], L2-normalised
 */
export function semanticVectorOf(model: string, text: string, dimensions: number): Float32Array {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['nothing'];
  const meant = syntheticVectors({ id: model, nativeDimension: dimensions }, [words.join(' ')]);
  const noise = vectorOf(model, text, dimensions);
  const raw = meant.map((value, index) => value + NOISE * (noise[index] as number));
  const norm = Math.hypot(...raw);
  return raw.map((value) => value / norm);
}
