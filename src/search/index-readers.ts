import type { RecordBatch, Table } from 'apache-arrow';
import type { LanceTables } from './lance.ts';
import { toRowBatch } from './resident/read-rows.ts';
import type { ResidentIndexes } from './resident/resident-indexes.ts';

/** Readers in the process of a writer, which keep what they have read. */
export interface IndexReaders {
  /** One commit has appended rows to a table, whose version was `before` and is `after`. No search may find them yet. */
  onAppended(name: string, versions: { readonly before: number; readonly after: number }, rows: Table): void;
  /** A version of a table may be read from now on. */
  onPublished(name: string, version: number): void;
}

/** Make readers that bring the copies in memory up to date, so that the next search need not. */
export function residentReaders(resident: ResidentIndexes, tables: LanceTables): IndexReaders {
  return {
    onAppended: (name, versions, rows) =>
      resident.append(name, () => ({ ...versions, batch: toRowBatch(rows.batches[0] as RecordBatch) })),
    onPublished: (name, version) => resident.refresh(name, version, () => tables.openForReading(name, version)),
  };
}

/** Readers that keep nothing. */
export const NO_READERS: IndexReaders = { onAppended: () => undefined, onPublished: () => undefined };
