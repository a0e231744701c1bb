import { describe, expect, it } from 'vitest';
import { convertVectors } from '../../src/embedding/output-types.ts';
import { AppError } from '../../src/platform/errors.ts';

const VECTOR = Float32Array.from([0.8, -0.6, 0, 0.004, -0.0025, 0.0025, 0.5, -1, 0.25, 0.1]);

describe('output types of vectors', () => {
  it.each([
    ['int8', [127, -120, 0, 1, 0, 0, 100, -127, 50, 20]],
    ['uint8', [255, 8, 128, 129, 128, 128, 228, 1, 178, 148]],
  ] as const)('%s has 200 steps to 1.0 and clips the rest', async (type, expected) => {
    const { rows, columns } = await convertVectors(VECTOR, VECTOR.length, type);
    expect(columns).toBe(VECTOR.length);
    expect([...rows].map((value) => value + 0)).toEqual(expected);
  });

  // Clients store these bits, so that another rotation would make their stored vectors useless.
  it.each([
    ['ubinary', [174, 128]],
    ['binary', [46, 0]],
  ] as const)('%s has the signs of the rotated vector, and zeros up to a whole byte', async (type, expected) => {
    const { rows, columns } = await convertVectors(VECTOR, VECTOR.length, type);
    expect(columns).toBe(2);
    expect([...rows]).toEqual(expected);
  });

  it('the rotation of a long vector stays the same', async () => {
    const vector = Float32Array.from({ length: 32 }, (_, index) => Math.sin(index + 1));
    expect([...(await convertVectors(vector, 32, 'ubinary')).rows]).toEqual([109, 42, 204, 241]);
  });

  it('every row is converted by itself, in slices as in one piece', async () => {
    const d = 4096;
    const vectors = Float32Array.from({ length: 30 * d }, (_, index) => Math.sin(index * index) / 64);
    for (const type of ['int8', 'ubinary'] as const) {
      const { rows, columns } = await convertVectors(vectors, d, type);
      for (const row of [0, 9, 10, 29]) {
        const alone = await convertVectors(vectors.subarray(row * d, (row + 1) * d), d, type);
        expect(rows.subarray(row * columns, (row + 1) * columns)).toEqual(alone.rows);
      }
    }
  });

  it.each([null, undefined, 'float'] as const)('%s leaves the vectors as they are', async (type) => {
    expect(await convertVectors(VECTOR, 5, type)).toEqual({ rows: VECTOR, columns: 5 });
  });

  it('a value that is not finite is the fault of the provider', async () => {
    const fault = convertVectors(Float32Array.from([0.5, Number.NaN]), 2, 'int8');
    await expect(fault).rejects.toBeInstanceOf(AppError);
    await expect(fault).rejects.toMatchObject({ code: 'embedding_not_finite', details: { position: 1 } });
  });
});
