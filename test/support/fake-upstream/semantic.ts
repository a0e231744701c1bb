import { syntheticVectors } from '../synthetic-models.ts';
import { vectorOf } from './vectors.ts';

const NOISE = 0.05;

/**
 * Return the vector of a bag of words in the model's axes, with its mean and some noise. Models can be aligned, and
 * texts with common words are close to each other in all models.
 *
 * @returns Float32Array [dimensions], L2-normalised
 */
export function semanticVectorOf(model: string, text: string, dimensions: number): Float32Array {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? ['nothing'];
  const meaning = syntheticVectors({ id: model, nativeDimension: dimensions }, [words.join(' ')]);
  const noise = vectorOf(model, text, dimensions);
  const raw = meaning.map((value, index) => value + NOISE * (noise[index] as number));
  const norm = Math.hypot(...raw);
  return raw.map((value) => value / norm);
}
