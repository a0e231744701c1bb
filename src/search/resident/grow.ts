type Numbers = Uint8Array | Uint32Array | Int32Array | Float32Array | Float64Array;

/** Return an array of at least `length` numbers that begins with those of `array`; it grows by a quarter at least. */
export function grown<A extends Numbers>(array: A, length: number): A {
  if (array.length >= length) return array;
  const larger = new (array.constructor as new (length: number) => A)(
    Math.max(length, Math.ceil(array.length * 1.25), 64),
  );
  larger.set(array);
  return larger;
}
