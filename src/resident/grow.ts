type Numbers = Uint8Array | Uint32Array | Int32Array | Float32Array | Float64Array;

/** Length up to which an array doubles: small tables then grow in fewer steps and waste little. */
const DOUBLED_MAX = 8_192;

/**
 * Return an array of at least `length` numbers that starts with the contents of `array`. A large array grows by at
 * least a quarter.
 */
export function grown<A extends Numbers>(array: A, length: number): A {
  if (array.length >= length) return array;
  const larger = new (array.constructor as new (length: number) => A)(
    Math.max(length, Math.ceil(array.length * (array.length <= DOUBLED_MAX ? 2 : 1.25)), 64),
  );
  larger.set(array);
  return larger;
}
