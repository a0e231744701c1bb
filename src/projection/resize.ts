/** Maximum output dimension of a variable-dimension model. */
export const DIMENSIONS_MAX = 4096;

/** Dimension of all stored and searched vectors, for every model. */
export const INDEX_DIMENSIONS = 1024;

/**
 * Resize vectors that have no map into the canonical space: truncate to the first `to` axes or pad with zeros, then
 * L2-normalise. Every smaller result is the normalised prefix of a larger one.
 *
 * @param vectors Float32Array [n x from], row-major, each row of unit length
 * @returns Float32Array [n x to]; the same array if `from` equals `to`. A row whose kept axes are all zero becomes the
 *   unit vector of the first axis, so that the service never returns a zero vector.
 */
export function resizeVectors(vectors: Float32Array, from: number, to: number): Float32Array {
  if (from === to) return vectors;
  const rows = vectors.length / from;
  const kept = Math.min(from, to);
  const resized = new Float32Array(rows * to);
  for (let row = 0; row < rows; row++) {
    const source = row * from;
    const target = row * to;
    let squares = 0;
    for (let i = 0; i < kept; i++) {
      const value = vectors[source + i] as number;
      squares += value * value;
    }
    if (squares === 0) {
      resized[target] = 1;
      continue;
    }
    const scale = to < from ? 1 / Math.sqrt(squares) : 1;
    for (let i = 0; i < kept; i++) resized[target + i] = (vectors[source + i] as number) * scale;
  }
  return resized;
}
