/**
 * Main module of a child process that repeatedly merges the files of tables, and closes all tables meanwhile. Argument:
 * an empty directory.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { mergeFiles } from '../../src/index/lance/merge-files.ts';
import { generationOf } from '../index/draw-rows.ts';

const ROUNDS = 20;
const TABLES = 3;

for (let round = 0; round < ROUNDS; round++) {
  const tables = new LanceTables(process.argv[2] as string);
  const merging: Promise<unknown>[] = [];
  for (let nth = 0; nth < TABLES; nth++) {
    const table = await tables.openForWriting(`bkt_${round}_${nth}`);
    for (let row = 0; row < 3; row++) await table.add(toArrowTable([generationOf(row, [`heron ${row}`])]) as never);
    merging.push(mergeFiles(table, Date.now()));
  }
  // Vary the moment from round to round: while LanceDB reads, writes and cleans up.
  await delay(round);
  await tables.close();
  await Promise.allSettled(merging);
}
process.stdout.write('done');
