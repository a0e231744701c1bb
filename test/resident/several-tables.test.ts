import { expect, it } from 'vitest';
import { embedLexical } from '../../src/embedding/providers/local.ts';
import { searchVectors } from '../../src/resident/search-tables.ts';
import { SketchedBlocks } from '../../src/resident/vectors/sketched-blocks.ts';
import { drawText, randomFrom } from '../index/draw-rows.ts';
import { fillTable } from './fill-table.ts';

const random = randomFrom(8);
const blocks = new SketchedBlocks();

it('several tables are ranked as one, and a limit above the number of rows finds all', () => {
  const resident = new Map([
    [1, fillTable(blocks, 'four', 40, random)],
    [2, fillTable(blocks, 'five', 60, random)],
  ]);
  const vector = embedLexical([drawText(random, 4)]);
  const all = searchVectors(resident, { tables: [1, 2], documentIds: null, limit: 1_000, vector });
  expect(all.chunkIds.length).toBe(100);
  expect([...all.scores]).toEqual([...all.scores].sort((a, b) => b - a));
  const some = searchVectors(resident, { tables: [1, 2], documentIds: null, limit: 10, vector });
  expect(some.chunkIds).toEqual(all.chunkIds.slice(0, 10));
  const own = searchVectors(resident, { tables: [1, 2], documentIds: ['five'], limit: 10, vector });
  expect(own.chunkIds).toEqual(all.chunkIds.filter((id) => id.startsWith('five')).slice(0, 10));
  expect(searchVectors(resident, { tables: [], documentIds: null, limit: 10, vector }).chunkIds).toEqual([]);
});
