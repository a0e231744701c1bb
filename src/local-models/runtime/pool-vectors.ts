import type { Pooling } from './protocol.ts';
import type { Tensor } from './session.ts';

/**
 * Compute one unit vector per text.
 * @param output [rows x length x dimension] for all tokens, or [rows x dimension] if the model does the pooling
 * @param lengths tokens per row, without trailing padding
 * @returns Float32Array [rows x dimension]
 */
export function poolVectors({ data, shape }: Tensor, lengths: readonly number[], pooling: Pooling): Float32Array {
  const rows = shape[0] as number;
  const dimension = shape.at(-1) as number;
  const rowLength = shape.length === 3 ? (shape[1] as number) : 1;
  const vectors = new Float32Array(rows * dimension);
  for (let row = 0; row < rows; row++) {
    const vector = vectors.subarray(row * dimension, (row + 1) * dimension);
    const length = shape.length === 3 ? (lengths[row] as number) : 1;
    const [from, to] = range(pooling, length);
    for (let token = from; token < to; token++) {
      const at = (row * rowLength + token) * dimension;
      for (let axis = 0; axis < dimension; axis++) {
        vector[axis] = (vector[axis] as number) + (data[at + axis] as number);
      }
    }
    normalize(vector);
  }
  return vectors;
}

/** Return the range of tokens whose vectors to add. Their sum has the direction of their mean. */
function range(pooling: Pooling, length: number): readonly [number, number] {
  if (pooling === 'cls') return [0, Math.min(1, length)];
  return pooling === 'last' ? [Math.max(0, length - 1), length] : [0, length];
}

/** Scale a vector to unit length, unless it is zero. */
export function normalize(vector: Float32Array): void {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const norm = Math.sqrt(squares);
  if (norm > 0) for (let axis = 0; axis < vector.length; axis++) vector[axis] = (vector[axis] as number) / norm;
}

/**
 * Compute one score per row of logits: for two classes, the softmax of the second, else a sigmoid.
 *
 * @param output [rows x 1] or [rows x 2]
 */
export function scoreLogits({ data, shape }: Tensor): Float32Array {
  const rows = shape[0] as number;
  const classes = shape.length === 1 ? 1 : (shape[1] as number);
  return Float32Array.from({ length: rows }, (_, row) => {
    const last = data[row * classes + classes - 1] as number;
    const logit = classes === 2 ? last - (data[row * classes] as number) : last;
    return 1 / (1 + Math.exp(-logit));
  });
}
