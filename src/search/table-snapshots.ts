import { open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import type { Table } from '@lancedb/lancedb';
import { KeywordRows } from './resident/keyword-rows.ts';
import type { RowBatch } from './resident/protocol.ts';
import { readRows } from './resident/read-rows.ts';
import { encodeRows } from './resident/row-file.ts';
import { FEW_ROWS } from './resident/vector-rows.ts';

const FILE = 'rows.safetensors';
const UNFINISHED = `${FILE}.tmp`;

/**
 * Files of the rows of small tables, one beside the files of each table: LanceDB takes milliseconds to read even a few
 * rows, which the first search of a bucket would wait for (docs/decisions/0050-snapshots-of-small-tables.md). A table that
 * is being written has none; it is written when the table is settled. Whoever writes or removes one holds the writer lock
 * of the bucket.
 */
export class TableSnapshots {
  readonly #directory: string;

  /** @param directory of the database */
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Return the file that has the snapshot of a table if there is one. */
  fileOf(name: string): string {
    return path.join(this.#directory, `${name}.lance`, FILE);
  }

  async remove(name: string): Promise<void> {
    const files = [this.fileOf(name), this.#unfinished(name)];
    await Promise.all(files.map((file) => rm(file, { force: true })));
  }

  /** Write the snapshot of the present version of a table, unless it has too many rows. */
  async save(table: Table): Promise<void> {
    if ((await table.countRows()) > FEW_ROWS) return;
    const version = await table.version();
    const batches: RowBatch[] = [];
    const keywords = new KeywordRows();
    let lastRowId = -1n;
    for await (const read of readRows(table)) {
      batches.push(read.batch);
      keywords.addAll(read.batch.tokens, 0, read.batch.count);
      if (read.lastRowId > lastRowId) lastRowId = read.lastRowId;
    }
    const unfinished = this.#unfinished(table.name);
    const file = await open(unfinished, 'w', 0o600);
    try {
      await file.writev(encodeRows({ version, lastRowId, batches, keywords: keywords.columns }));
      await file.sync();
    } finally {
      await file.close();
    }
    // Another writer has begun if this one was stopped for so long that it lost the lock.
    await table.checkoutLatest();
    if ((await table.version()) === version) await rename(unfinished, this.fileOf(table.name));
    else await rm(unfinished, { force: true });
  }

  #unfinished(name: string): string {
    return path.join(this.#directory, `${name}.lance`, UNFINISHED);
  }
}
