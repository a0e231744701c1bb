import { PANEL_COLUMNS } from './pack-panels.ts';
import type { Kernel, KernelMemory } from './wasm-kernel.ts';

/**
 * Minimum norm of a column as a share of the largest. Smaller columns count as zeros, since their scale would not be a
 * normal float32.
 */
const NORM_SHARE_MIN = 1e-30;

/** Return the number of integer pairs in a column of `k` rows. For an odd `k`, the last pair contains a zero. */
export function pairsOf(k: number): number {
  return Math.ceil(k / 2);
}

/**
 * Round packed weights to 16-bit integers, with a separate scale per column (`rounding.as.ts`). The rounding error of a
 * weight is at most 1 / 65,534 of its column's norm.
 *
 * @param packed weights of `k` rows, laid out by `packPanels`
 * @param addresses.target address for the same panels, as pairs of neighbours in a column: i16 [panels x ceil(k / 2) x
 *   8 x 2]
 * @param addresses.scratch address of 32 * k + 64 bytes
 * @returns per column, the factor for products with its integers, relative to that of the longest column, which is 1
 * @throws RangeError if a weight is not finite
 */
export function roundWeights(
  { kernel, memory }: { readonly kernel: Kernel; readonly memory: KernelMemory },
  packed: Float32Array,
  k: number,
  { target, scratch }: { readonly target: number; readonly scratch: number },
): Float32Array {
  const values = new Float32Array(memory.buffer, scratch, PANEL_COLUMNS * k);
  const panelNorms = new Float64Array(memory.buffer, scratch + values.byteLength, PANEL_COLUMNS);
  const norms = new Float64Array(packed.length / k);
  const panelBytes = 4 * PANEL_COLUMNS * pairsOf(k);
  for (let column = 0; column < norms.length; column += PANEL_COLUMNS) {
    values.set(packed.subarray(column * k, (column + PANEL_COLUMNS) * k));
    kernel.roundPanel(scratch, k, target + (column / PANEL_COLUMNS) * panelBytes, panelNorms.byteOffset);
    norms.set(panelNorms, column);
  }
  if (!norms.every(Number.isFinite)) throw new RangeError('a map has a weight that is not finite');
  const longest = norms.reduce((largest, norm) => Math.max(largest, norm), 0);
  return Float32Array.from(norms, (norm) => (norm <= longest * NORM_SHARE_MIN ? 0 : norm / longest));
}
