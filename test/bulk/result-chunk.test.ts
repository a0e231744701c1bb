import { expect, it } from 'vitest';
import { checkResultChunk, encodeResultChunk } from '../../src/bulk/result-chunk.ts';

const vectors = Float32Array.from({ length: 3 * 4 }, (_, i) => Math.fround(Math.sin(i)));
const chunk = {
  vectors,
  dimensions: 4,
  space: 'canon-v1',
  used: [{ model: 'm', texts: 3, tokens: 9 }],
  cost: 0.25,
};
const expected = { texts: 3, dimensions: 4 };

it('an encoded chunk has its vectors from byte 0 and passes its own check', () => {
  const { bytes, facts } = encodeResultChunk(chunk);
  expect(new Float32Array(Uint8Array.from(bytes.subarray(0, vectors.byteLength)).buffer)).toEqual(vectors);
  const { vectors: _, ...rest } = chunk;
  expect(facts).toEqual({ ...rest, texts: 3, rowCrcs: [expect.any(Number), expect.any(Number), expect.any(Number)] });
  expect(checkResultChunk(bytes, expected)).toEqual(facts);
});

it('a subarray of a larger array is encoded without the rest of the array', () => {
  const whole = new Float32Array(20);
  whole.set(vectors, 4);
  const { bytes, facts } = encodeResultChunk({ ...chunk, vectors: whole.subarray(4, 16) });
  expect(checkResultChunk(bytes, expected)).toEqual(facts);
  expect(facts).toEqual(encodeResultChunk(chunk).facts);
});

it.each([
  ['a changed float', (bytes: Buffer) => bytes.fill(7, 17, 18)],
  [
    'changed facts',
    (bytes: Buffer) => Buffer.from(bytes.toString('latin1').replace('"texts":3', '"texts":2'), 'latin1'),
  ],
  ['a cut-off end', (bytes: Buffer) => bytes.subarray(0, -1)],
  ['no bytes', () => Buffer.alloc(0)],
  ['another length of vectors', () => Buffer.from(encodeResultChunk({ ...chunk, dimensions: 6 }).bytes)],
])('a stored chunk with %s fails the check', (_, spoil) => {
  expect(checkResultChunk(spoil(Buffer.from(encodeResultChunk(chunk).bytes)), expected)).toBeNull();
});
