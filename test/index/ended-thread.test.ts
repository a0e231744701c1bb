import { mkdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { TableCopy } from '../../src/index/copies/table-copy.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { ResidentThread } from '../../src/resident/resident-thread.ts';
import { makeDataDir } from '../support/appliance.ts';
import { unhandledRejections } from '../support/unhandled.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';

const { dataDir, remove } = makeDataDir();
const index = path.join(dataDir, 'index');
mkdirSync(index);
const tables = new LanceTables(index);
afterAll(async () => {
  await tables.close();
  remove();
});

it('a thread that ends after the reading of its table has failed leaves no error unhandled', async () => {
  const unhandled = unhandledRejections();
  const random = randomFrom(1);
  await (await tables.openForWriting('buc_one')).add(toArrowTable([generationOf(1, [drawText(random, 40)])]) as never);
  const table = await tables.openForReading('buc_one', 1);
  if (table === null) throw new Error('the table is not there');
  rmSync(path.join(index, 'buc_one.lance', 'data'), { recursive: true });
  const thread = new ResidentThread();
  const copy = new TableCopy('buc_one', { number: 1, thread, scratchIn: null, onSize: () => undefined });
  // The thread, which starts, is closed before it has answered.
  await expect(copy.fill(table, 1, 2 ** 30)).rejects.toThrow(/not found/i);
  await thread.close();
  await new Promise(setImmediate);
  expect(thread.isEnded).toBe(true);
  expect(unhandled).toEqual([]);
});
