import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStoredInput, packTexts, splitPacked, unpackChunk } from '../../src/bulk/input.ts';
import { openDiskObjects } from '../../src/platform/objects/disk.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';

let folder: string;
let objects: Objects;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'bulk-input-'));
  objects = await openDiskObjects({ directory: folder });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const HOSTILE = ['\ud800 alone', 'nul \0 inside', '"quotes" \\ \n\t', '한국어', '👩‍👩‍👧', ' ', 'é'.normalize('NFD')];

describe('packed texts', () => {
  it.each([1, 99, 100, 101, 250])('%i packed texts are read back chunk by chunk as they were', async (count) => {
    const texts = Array.from({ length: count }, (_, i) => HOSTILE[i % HOSTILE.length] + String(i));
    const packed = packTexts(texts);
    expect(packed.count).toBe(count);
    expect(splitPacked(packed.bytes).flatMap(unpackChunk)).toEqual(texts);
    await objects.put(`inputs/${count}`, packed.bytes);
    const input = await openStoredInput(objects, `inputs/${count}`, Math.ceil(count / 100));
    const chunks = await Promise.all(Array.from({ length: input.chunkCount }, (_, i) => input.readChunk(i)));
    expect(chunks.map((chunk) => chunk.length)).toEqual(chunks.map((_, i) => Math.min(100, count - i * 100)));
    expect(chunks.flat()).toEqual(texts);
  });

  it('the sample has texts from all over the input, and truncates long ones', () => {
    const packed = packTexts(Array.from({ length: 1_000 }, (_, i) => `${i} `.padEnd(5_000, 'x')));
    expect(packed.sample).toHaveLength(100);
    expect(packed.sample.map((text) => Number.parseInt(text, 10))).toEqual(
      Array.from({ length: 100 }, (_, i) => i * 10),
    );
    expect(Math.max(...packed.sample.map((text) => text.length))).toBe(1_000);
    expect(packTexts(['a', 'b']).sample).toEqual(['a', 'b']);
  });

  it.each([
    ['cut off in a chunk', (bytes: Uint8Array) => bytes.subarray(0, bytes.length - 3)],
    ['cut off in its head', (bytes: Uint8Array) => bytes.subarray(0, 10)],
    ['changed in a chunk', (bytes: Uint8Array) => bytes.with(bytes.length - 8, (bytes.at(-8) as number) ^ 0xff)],
    ['something else', () => Buffer.from('<html>'.repeat(100))],
    ['of another number of chunks', () => packTexts(['one chunk']).bytes],
  ])('a stored input that is %s is refused', async (name, spoil) => {
    const key = `spoiled/${name.replaceAll(' ', '-')}`;
    await objects.put(key, spoil(Uint8Array.from(packTexts(Array.from({ length: 150 }, (_, i) => `text ${i}`)).bytes)));
    const reading = openStoredInput(objects, key, 2).then((input) => input.readChunk(1));
    await expect(reading).rejects.toMatchObject({ code: 'object_damaged' });
  });

  it('a missing input is a typed error', async () => {
    await expect(openStoredInput(objects, 'inputs/none', 1)).rejects.toMatchObject({ code: 'object_not_found' });
  });
});
