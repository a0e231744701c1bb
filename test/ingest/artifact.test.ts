/// <reference lib="es2025.float16" />
import { createHash } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChunkArtifact, decodeArtifact, encodeArtifact, encodeOnThread } from '../../src/ingest/artifact.ts';
import { fromHalves, halvesByBits, toHalves, unitRowsOf } from '../../src/ingest/half-floats.ts';
import { openThreads } from '../../src/platform/threads.ts';
import { createRandom, SEED } from '../support/random.ts';

/** Pseudo-random unit rows. */
function unitRows(rows: number, dimension: number, seed = 1): Float32Array {
  const { real } = createRandom(seed);
  const values = new Float32Array(rows * dimension).map(() => 2 * real() - 1);
  return unitRowsOf(toHalves(values), dimension);
}

function artifact(chunks: number, dimension: number | null): ChunkArtifact {
  return {
    ...{ documentId: 'doc_1', generation: 7, model: 'my/model', space: 'canon-v1', mapVersion: 3, dimensions: 4 },
    chunks: Array.from({ length: chunks }, (_, index) => ({
      ...{ id: `doc_1_7_${index}`, index, text: `chunk ${index} 청크`, token_count: 2 },
      locator: { page: null, heading_path: ['A'], start: 0, end: 1 },
    })),
    vectors: unitRows(chunks, 4),
    native:
      dimension === null
        ? null
        : { dimension, revision: '1', vectors: toHalves(unitRows(chunks, dimension, dimension)) },
  };
}

const HALF_MAX = 65_504;

describe('half-precision vectors', () => {
  it('half-precision vectors have an error of at most max(2^-11 |x|, 2^-25)', () => {
    fc.assert(
      fc.property(
        fc.float32Array({ minLength: 1, maxLength: 200, min: -HALF_MAX, max: HALF_MAX, noNaN: true }),
        (values) => {
          const back = fromHalves(toHalves(values));
          for (const [i, value] of values.entries()) {
            expect(Math.abs((back[i] as number) - value)).toBeLessThanOrEqual(
              Math.max(2 ** -11 * Math.abs(value), 2 ** -25),
            );
          }
        },
      ),
      { seed: SEED },
    );
  });

  it('half-precision vectors equal those of the JavaScript engine for any bits, rounded to nearest and ties to even', () => {
    const expectSameAsEngine = (values: Float32Array) => {
      const engine = new Float16Array(values);
      expect(fromHalves(halvesByBits(values))).toEqual(new Float32Array(engine));
      expect(halvesByBits(values).filter((_, i) => !Number.isNaN(values[i]))).toEqual(
        new Uint16Array(engine.buffer).filter((_, i) => !Number.isNaN(values[i])),
      );
      expect(toHalves(values)).toEqual(halvesByBits(values));
    };
    // All half-precision values, the midpoints between two of them, and values slightly above and below the midpoints.
    const all = new Float32Array(new Float16Array(new Uint16Array(0x1_0000).map((_, i) => i).buffer));
    expectSameAsEngine(all);
    for (const nudge of [1, 1 + 2 ** -23, 1 - 2 ** -24]) {
      expectSameAsEngine(all.map((value, i) => ((value + (all[(i + 1) & 0xffff] as number)) / 2) * nudge));
    }
    fc.assert(
      fc.property(fc.uint32Array({ maxLength: 500 }), (bits) =>
        expectSameAsEngine(new Float32Array(bits.slice().buffer)),
      ),
      { seed: SEED },
    );
  });

  it('half-precision vectors keep the direction of a unit vector to a cosine of 1 - 2^-22, and its length', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 4_096 }), fc.integer(), (dimension, seed) => {
        const [row] = [unitRows(1, dimension, seed)];
        const back = unitRowsOf(toHalves(row as Float32Array), dimension);
        let cosine = 0;
        let squares = 0;
        let original = 0;
        for (let i = 0; i < dimension; i++) {
          cosine += (row?.[i] as number) * (back[i] as number);
          squares += (back[i] as number) ** 2;
          original += (row?.[i] as number) ** 2;
        }
        expect(squares).toBeCloseTo(1, 5);
        expect(cosine / Math.sqrt(squares * original)).toBeGreaterThan(1 - 2 ** -22);
      }),
      { seed: SEED },
    );
  });

  it('a row of zeros stays unchanged when half-precision rows are normalised', () => {
    expect([...unitRowsOf(toHalves(Float32Array.of(0, 0, 3, 4)), 2)]).toEqual([
      0,
      0,
      expect.closeTo(0.6),
      expect.closeTo(0.8),
    ]);
  });
});

describe('a chunk artifact', () => {
  it.each([
    ['a chunk artifact with native vectors', artifact(5, 7)],
    ['a chunk artifact without native vectors', artifact(3, null)],
    ['a chunk artifact of one chunk', artifact(1, 1)],
  ])('%s is unchanged after encoding and decoding', (_, original) => {
    const decoded = decodeArtifact(encodeArtifact(original));
    expect(decoded).toEqual(original);
    // It is also decoded from the middle of a buffer, at an odd offset.
    const padded = Buffer.concat([Buffer.from('x'), encodeArtifact(original)]);
    expect(decodeArtifact(padded.subarray(1))).toEqual(original);
  });

  it('a chunk artifact that is encoded on a worker thread is unchanged after decoding', async () => {
    const threads = openThreads();
    const original = artifact(100, 32);
    const bytes = await encodeOnThread(threads, original, new AbortController().signal);
    expect(decodeArtifact(bytes)).toEqual(original);
    await threads.close();
  });

  it('a chunk artifact of layout 1 is read, without native vectors', () => {
    const { vectors, native: _native, mapVersion: _map, ...rest } = artifact(2, null);
    const header = deflateRawSync(JSON.stringify(rest));
    const length = Buffer.alloc(4);
    length.writeUInt32LE(header.length);
    const body = Buffer.concat([length, header, Buffer.from(vectors.buffer)]);
    const bytes = Buffer.concat([Buffer.from('SVCCHNK1'), createHash('sha256').update(body).digest(), body]);
    expect(decodeArtifact(bytes)).toEqual({ ...rest, vectors, native: null, mapVersion: null });
  });

  it('a chunk artifact is refused when any byte of it changed, or its end is missing', () => {
    const bytes = encodeArtifact(artifact(2, 3));
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const damaged = Buffer.from(bytes);
        damaged[at] = (damaged[at] as number) ^ flip;
        expect(() => decodeArtifact(damaged)).toThrow(expect.objectContaining({ code: 'artifact_corrupt' }));
        expect(() => decodeArtifact(bytes.subarray(0, at))).toThrow(
          expect.objectContaining({ code: 'artifact_corrupt' }),
        );
      }),
      { seed: SEED },
    );
  });
});
