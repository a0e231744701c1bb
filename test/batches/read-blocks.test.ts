import { Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { BLOCK_BYTES, LINE_BYTES_MAX, readBlocks } from '../../src/batches/read-blocks.ts';
import { ownsMemory } from '../../src/platform/free-memory.ts';
import { createTestRandom } from '../support/random.ts';

it('blocks hold all lines of an input in order, however it is cut, and a line that is too long has no bytes', async () => {
  const random = createTestRandom('blocks of lines');
  const lines = Array.from({ length: 4_000 }, (_, i) => `${i} ${'x'.repeat(random.int(900))}`);
  const tooLong = [700, 2_500];
  for (const at of tooLong) lines[at] = 'y'.repeat(LINE_BYTES_MAX + 1 + random.int(100_000));
  const input = Buffer.from(lines.join('\n'));
  const parts = function* () {
    for (let at = 0; at < input.length; ) {
      const size = 1 + random.int(100_000);
      yield input.subarray(at, at + size);
      at += size;
    }
  };
  let number = 0;
  let end = 0;
  for await (const { offset, bytes } of readBlocks(Readable.from(parts()))) {
    expect(offset).toBe(end);
    if (bytes === null) {
      expect(tooLong).toContain(number);
      end += (lines[number++] as string).length + 1;
      continue;
    }
    expect(bytes.equals(input.subarray(offset, offset + bytes.length))).toBe(true);
    // A larger block would be parsed on a thread, which takes 45 MB.
    if (bytes.length < LINE_BYTES_MAX) expect(bytes.length).toBeLessThan(2 * BLOCK_BYTES);
    end += bytes.length;
    number += bytes.toString().replace(/\n$/, '').split('\n').length;
    // The receiver may move the bytes to a thread, which leaves the buffer empty.
    if (ownsMemory(bytes)) structuredClone(bytes, { transfer: [bytes.buffer] });
  }
  expect([number, end]).toEqual([lines.length, input.length]);
});
