/** Columns of a panel: the width of a register tile of the kernel. */
export const PANEL_COLUMNS = 8;

/** Return the number of stored columns, rounded up to whole panels. */
export function paddedColumns(columns: number): number {
  return Math.ceil(columns / PANEL_COLUMNS) * PANEL_COLUMNS;
}

/**
 * Pack weights in the layout of the kernel and of stored artifacts: panels of 8 columns one after the other, each
 * Float32Array [k x 8] row-major, the last one padded with zeros.
 *
 * @param weights Float32Array [k x columns], row-major
 * @returns Float32Array [ceil(columns / 8) x k x 8]; its first panels are the packed first columns
 * @throws RangeError if length and shape do not match
 */
export function packPanels(weights: Float32Array, k: number, columns: number): Float32Array {
  if (weights.length !== k * columns) {
    throw new RangeError(`weights of ${k} x ${columns} have ${k * columns} values, not ${weights.length}`);
  }
  const packed = new Float32Array(k * paddedColumns(columns));
  packColumns(packed, weights, k, columns, 0, columns);
  return packed;
}

/**
 * Pack columns [from .. to) of a row-major matrix [k x columns] into `target`, which holds whole panels. `from` is a
 * multiple of 8. Columns beyond `to` in the last panel are set to zero.
 */
export function packColumns(
  target: Float32Array,
  source: Float32Array,
  k: number,
  columns: number,
  from: number,
  to: number,
): void {
  let at = 0;
  for (let column = from; column < to; column += PANEL_COLUMNS) {
    const width = Math.min(PANEL_COLUMNS, to - column);
    if (width === PANEL_COLUMNS) {
      for (let row = 0, i = column; row < k; row++, i += columns, at += PANEL_COLUMNS) {
        target[at] = source[i] as number;
        target[at + 1] = source[i + 1] as number;
        target[at + 2] = source[i + 2] as number;
        target[at + 3] = source[i + 3] as number;
        target[at + 4] = source[i + 4] as number;
        target[at + 5] = source[i + 5] as number;
        target[at + 6] = source[i + 6] as number;
        target[at + 7] = source[i + 7] as number;
      }
    } else {
      target.fill(0, at, at + k * PANEL_COLUMNS);
      for (let row = 0, i = column; row < k; row++, i += columns, at += PANEL_COLUMNS) {
        for (let j = 0; j < width; j++) target[at + j] = source[i + j] as number;
      }
    }
  }
}

/** Pack rows [from .. to) of a row-major matrix [rows x k] as columns, for a product with its transpose. */
export function packRows(target: Float32Array, source: Float32Array, k: number, from: number, to: number): void {
  let panel = 0;
  for (let row = from; row < to; row += PANEL_COLUMNS, panel += k * PANEL_COLUMNS) {
    const width = Math.min(PANEL_COLUMNS, to - row);
    if (width < PANEL_COLUMNS) target.fill(0, panel, panel + k * PANEL_COLUMNS);
    for (let j = 0; j < width; j++) {
      for (let i = (row + j) * k, end = i + k, at = panel + j; i < end; i++, at += PANEL_COLUMNS) {
        target[at] = source[i] as number;
      }
    }
  }
}
