/** Concatenate typed arrays of one kind. A single array is returned as it is. */
export function joinArrays<T extends Float32Array | Uint16Array>(
  kind: new (length: number) => T,
  arrays: readonly T[],
): T {
  const [only] = arrays;
  if (arrays.length === 1 && only) return only;
  const joined = new kind(arrays.reduce((length, array) => length + array.length, 0));
  let at = 0;
  for (const array of arrays) {
    joined.set(array, at);
    at += array.length;
  }
  return joined;
}
