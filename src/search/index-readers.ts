import type { LanceTables } from './lance.ts';
import type { ResidentIndexes } from './resident/resident-indexes.ts';
import type { AppendedRows } from './resident/row-file.ts';

/** Readers in the process of a writer, which keep what they have read. */
export interface IndexReaders {
  /** One commit has appended rows to a table. No search may find them yet. */
  onAppended(name: string, rows: AppendedRows): void;
  /** A version of a table may be read from now on. */
  onPublished(name: string, version: number): void;
}

/** Make readers that bring the copies in memory up to date, so that the next search need not. */
export function residentReaders(resident: ResidentIndexes, tables: LanceTables): IndexReaders {
  return {
    onAppended: (name, rows) => resident.append(name, rows),
    onPublished: (name, version) =>
      resident.refresh(name, version, () => tables.openForReading(name, version), tables.filesOf(name)),
  };
}

/** Readers that keep nothing. */
export const NO_READERS: IndexReaders = { onAppended: () => undefined, onPublished: () => undefined };
