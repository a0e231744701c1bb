import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { AppError } from '../../src/platform/errors.ts';
import { compilePrintFloats } from '../../src/printing/build.ts';
import { floatPrinter } from '../../src/printing/float-printer.ts';
import { JsonWriter } from '../../src/printing/json-writer.ts';
import { renderEmbeddingList, renderVectorRows, writeEmbeddingItems } from '../../src/printing/print-floats.ts';
import {
  bitsOf,
  countDigits,
  firstThatReadsBack,
  fromBits,
  hardFloats,
  isCanonical,
  isShortest,
  leastDistance,
  randomFloats,
  readsBackDirectly,
  scaleOf,
  unitVector,
} from './decimal-reference.ts';

const TAIL = { model: 'm', usage: { tokens: 1 }, zeros: 0 };

describe('print-floats.wasm', () => {
  it('the committed print-floats.wasm is the result of compiling its source', async () => {
    const committed = await readFile(new URL('../../src/printing/print-floats.wasm', import.meta.url));
    expect(Buffer.from(await compilePrintFloats()).equals(committed)).toBe(true);
  });

  it('the module keeps enough bits to distinguish a product from a whole number', () => {
    // The module drops what lies below 2^-60 of m * 2^q / 10^k; it multiplies by m < 2^29.
    for (let q = -149; q <= 104; q++) {
      const [numerator, denominator] = scaleOf(q);
      expect(leastDistance(numerator, denominator, 2n ** 29n) * 2 ** 60).toBeGreaterThan(1);
    }
  });
});

describe('printed floats', () => {
  it.each([
    [0, '0'],
    [-0, '-0'],
    [1, '1'],
    [-0.5, '-0.5'],
    [0.1, '0.1'],
    [1 / 3, '0.33333334'],
    [0.99999994, '0.99999994'],
    [-0.031234567, '-0.031234566'],
    [0.000001, '0.000001'],
    [9.999999e-7, '9.999999e-7'],
    [1e-7, '1e-7'],
    [123456.7, '123456.7'],
    [16777216, '16777216'],
    [33554448, '33554450'], // half-way to the next float, which is odd: ties go to even
    [33554452, '33554452'],
    [1e10, '10000000000'],
    [999999950000000000000, '999999950000000000000'],
    [1e21, '1e+21'],
    [-1e30, '-1e+30'],
    [3.4028234663852886e38, '3.4028235e+38'],
    [1.1754943508222875e-38, '1.1754944e-38'], // least normal
    [1.1754942106924411e-38, '1.1754942e-38'], // greatest subnormal
    [1.401298464324817e-45, '1e-45'],
    [-9.80908925027372e-45, '-1e-44'],
    [2 ** -44, '5.684342e-14'], // the neighbour below a power of two is nearer
    [2 ** -19, '0.0000019073486'],
  ])('the float %d is printed as %s', (value, text) => {
    expect(printed([value])).toEqual([text]);
  });

  it('printed floats avoid decimals that float64 readers round twice', () => {
    // 7.038531e-26 is nearest to this float, but nearest to a tie in float64, and so read as its neighbour.
    const value = fromBits(0x15ae_43fd);
    expect(Math.fround(7.038531e-26)).not.toBe(value);
    expect(readsBackDirectly('7.038531e-26', 0x15ae_43fd)).toBe(true);
    expect(printed([value, -value])).toEqual(['7.0385307e-26', '-7.0385307e-26']);
  });

  it.each([
    ['1,000,000 random bit patterns', randomFloats(1_000_000, 1)],
    ['values as in unit vectors', unitVector(150_000, 7)],
    ['values about 1', unitVector(150_000, 8).map((value) => value * 32)],
  ])('printed floats read back, are the shortest, and have the format of ECMAScript: %s', (_, values) => {
    const wrong: string[] = [];
    for (const [i, text] of printed(values).entries()) {
      const value = values[i] ?? Number.NaN;
      if (!isShortest(text, value) || !isCanonical(text)) wrong.push(`${value} -> ${text}`);
    }
    expect(wrong).toEqual([]);
  });

  it('printed floats equal the first of toPrecision(1..9) that reads back, and also read back directly as float32', () => {
    const values = [...randomFloats(20_000, 2), ...unitVector(5_000, 3), ...hardFloats()];
    const wrong: string[] = [];
    for (const [i, text] of printed(values).entries()) {
      const value = values[i] ?? Number.NaN;
      const bits = bitsOf(Math.abs(value));
      const reference = firstThatReadsBack(value);
      const atLeastAsShort = countDigits(text) <= countDigits(reference);
      // Below a power of two the interval is narrower, and the nearest decimal of a length is not always in it.
      const isEqual = (bits & 0x7f_ffff) === 0 ? atLeastAsShort : Number(text) === Number(reference);
      if (!isEqual || !readsBackDirectly(text, bits)) wrong.push(`${value} -> ${text}, not ${reference}`);
    }
    expect(wrong).toEqual([]);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('the float %d is refused', async (bad) => {
    const values = new Float32Array(10_000).fill(0.25);
    values[9_001] = bad;
    const failure = await renderVectorRows(values, 5_000, TAIL).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AppError);
    expect(failure).toMatchObject({ code: 'embedding_not_finite', status: 502, details: { position: 9_001 } });
    expect(printed([0.25])).toEqual(['0.25']);
  });

  it('a block of the longest floats fits into the fixed memory', () => {
    const longest = -999999950000000000000;
    const block = new Float32Array(floatPrinter().blockFloatsMax).fill(longest);
    expect(new Set(printed(block))).toEqual(new Set(['-999999950000000000000']));
    expect(() => floatPrinter().printBlock(new Float32Array(block.length + 1), 0, block.length + 1)).toThrow(
      RangeError,
    );
    expect(() => floatPrinter().printBlock(block, 0, 0)).toThrow(RangeError);
    expect(() => floatPrinter().printBlock(block, 1, block.length + 1)).toThrow(RangeError);
  });
});

describe('renderEmbeddingList', () => {
  it('an embedding list is rendered byte by byte as expected', async () => {
    const body = await renderEmbeddingList(Float32Array.of(0.5, -0.25, 0.1, 1), 2, { model: 'a"é한', promptTokens: 7 });
    expect(body.toString()).toBe(
      '{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,-0.25]},' +
        '{"object":"embedding","index":1,"embedding":[0.1,1]}],' +
        '"model":"a\\"é한","usage":{"prompt_tokens":7,"total_tokens":7}}',
    );
  });

  it('zeros behind the columns are printed as those of a padded row', async () => {
    const tail = { model: 'm', promptTokens: 7 };
    const unpadded = await renderEmbeddingList(Float32Array.of(0.5, -0.25, 0.1, 1), 2, { ...tail, zeros: 2 });
    const padded = await renderEmbeddingList(Float32Array.of(0.5, -0.25, 0, 0, 0.1, 1, 0, 0), 4, tail);
    expect(unpadded.toString()).toBe(padded.toString());
  });

  it.each([
    [0, 8],
    [1, 1],
    [1, 1_024],
    [40, 1_536],
    [3, 10_000],
    [5_000, 3],
  ])('an embedding list reads back as %i rows of %i dimensions', async (n, d) => {
    const vectors = unitVector(n * d, n + d);
    const body = await renderEmbeddingList(vectors, d, { model: 'm', promptTokens: 12 });
    const list = JSON.parse(body.toString());
    const data = Array.from({ length: n }, (_, index) => {
      return { object: 'embedding', index, embedding: list.data[index].embedding.map(Math.fround) };
    });
    expect({ ...list, data }).toEqual({
      object: 'list',
      data: Array.from({ length: n }, (_, index) => {
        return { object: 'embedding', index, embedding: [...vectors.subarray(index * d, (index + 1) * d)] };
      }),
      model: 'm',
      usage: { prompt_tokens: 12, total_tokens: 12 },
    });
  });

  it('an embedding in base64 contains the bytes of the floats', async () => {
    const whole = Float32Array.of(9, 0.5, -0.25, 0.1, 1e-40);
    const body = await renderEmbeddingList(whole.subarray(1), 2, { model: 'm', promptTokens: 1, base64: true });
    const rows = JSON.parse(body.toString()).data.map((item: { index: number; embedding: string }) => {
      const bytes = Buffer.from(item.embedding, 'base64');
      return [item.index, bytes.readFloatLE(0), bytes.readFloatLE(4), bytes.length];
    });
    expect(rows).toEqual([
      [0, 0.5, -0.25, 8],
      [1, Math.fround(0.1), Math.fround(1e-40), 8],
    ]);
    const bad = renderEmbeddingList(Float32Array.of(1, Number.NaN), 2, { model: 'm', promptTokens: 1, base64: true });
    await expect(bad).rejects.toMatchObject({ code: 'embedding_not_finite', details: { position: 1 } });
  });

  it('floats that are not whole rows are refused', async () => {
    for (const d of [0, 3, 1.5, -1, Number.NaN]) {
      const refused = renderEmbeddingList(new Float32Array(4), d, { model: 'm', promptTokens: 1 });
      await expect(refused).rejects.toThrow(RangeError);
    }
  });
});

describe('renderVectorRows', () => {
  it('rows are rendered byte by byte as expected, with the zeros behind their columns', async () => {
    const usage = { tokens: 7, count: 2 };
    const body = await renderVectorRows(Float32Array.of(0.5, -0.25, 0.1, 1), 2, { model: 'm', usage, zeros: 2 });
    expect(body.toString()).toBe(
      '{"embeddings":[[0.5,-0.25,0,0],[0.1,1,0,0]],"model":"m","dimensions":4,"usage":{"tokens":7,"count":2}}',
    );
  });

  it('rows of several slices are separated by commas', async () => {
    const vectors = unitVector(90_000, 3);
    const { embeddings } = JSON.parse((await renderVectorRows(vectors, 1_000, TAIL)).toString());
    expect(embeddings.flat().map(Math.fround)).toEqual([...vectors]);
    expect(embeddings).toHaveLength(90);
  });

  it('rendered rows are not changed by later calls, and can be transferred to another thread', async () => {
    const first = await renderVectorRows(Float32Array.of(0.125, 0.25), 2, TAIL);
    const text = first.toString();
    await renderVectorRows(unitVector(20_000, 5), 1_000, TAIL);
    expect(first.toString()).toBe(text);
    const moved = structuredClone(first, { transfer: [first.buffer as ArrayBuffer] });
    expect(Buffer.from(moved).toString()).toBe(text);
  });
});

describe('JsonWriter', () => {
  it('a writer grows if the expected size was too low', () => {
    const vectors = unitVector(9_000, 11);
    const writer = new JsonWriter({ floats: 0, textBytes: 0 });
    writer.text('[');
    writer.floats(vectors, 0, vectors.length);
    writer.text(',"é"]');
    expect(JSON.parse(writer.finish().toString())).toHaveLength(9_001);
  });

  it('a writer can write a page of a longer list', () => {
    const writer = new JsonWriter({ floats: 2, textBytes: 100 });
    writeEmbeddingItems(writer, Float32Array.of(1, 2), 1, { firstIndex: 500 });
    expect(writer.finish().toString()).toBe(
      '{"object":"embedding","index":500,"embedding":[1]},{"object":"embedding","index":501,"embedding":[2]}',
    );
  });

  it('a writer writes no floats for an empty range', () => {
    const writer = new JsonWriter({ floats: 0, textBytes: 0 });
    writer.floats(Float32Array.of(1), 1, 1);
    expect(writer.finish()).toHaveLength(0);
  });
});

function printed(values: ArrayLike<number>): string[] {
  const writer = new JsonWriter({ floats: values.length, textBytes: 0 });
  writer.floats(Float32Array.from(values), 0, values.length);
  return writer.finish().toString('latin1').split(',');
}
