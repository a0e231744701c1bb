import { embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import type { RowBatch } from '../../src/resident/protocol.ts';
import { ResidentTable } from '../../src/resident/resident-table.ts';
import type { SketchedBlocks } from '../../src/resident/vectors/sketched-blocks.ts';
import { drawText } from '../index/draw-rows.ts';

function utf8(texts: readonly string[]) {
  const offsets = new Int32Array(texts.length + 1);
  for (const [nth, text] of texts.entries()) offsets[nth + 1] = (offsets[nth] as number) + Buffer.byteLength(text);
  return { offsets, bytes: new Uint8Array(Buffer.from(texts.join(''))) };
}

/** Draw rows of one document, with vectors of the built-in model. */
export function drawBatch(name: string, count: number, random: () => number): RowBatch {
  const texts = Array.from({ length: count }, () => drawText(random, 30));
  return {
    ...{ count, texts: utf8(texts), tokens: utf8(texts), locators: utf8(texts.map(() => '{}')) },
    ...{ chunkIds: utf8(texts.map((_, nth) => `${name}_${nth}`)), documentIds: utf8(texts.map(() => name)) },
    ...{ generations: new BigInt64Array(count), chunkIndexes: Int32Array.from(texts.keys()) },
    boilerplate: new Uint8Array(count),
    vectors: embedLexicalPassages(texts),
  };
}

/** Make a table of drawn rows. */
export function fillTable(blocks: SketchedBlocks, name: string, count: number, random: () => number): ResidentTable {
  const table = new ResidentTable(blocks);
  table.add(drawBatch(name, count, random), 0, count);
  return table;
}
