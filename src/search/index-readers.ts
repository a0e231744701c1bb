import type { LanceTables } from './lance.ts';
import type { ResidentIndexes } from './resident/resident-indexes.ts';
import type { CommittedRows } from './resident/row-file.ts';

/** Readers in the process of a writer, which keep what they have read. */
export interface IndexReaders {
  /** One commit has appended rows to a table, which no search may find yet, or has removed rows, which none may find any more. */
  onCommitted(name: string, commit: CommittedRows): void;
  /** A version of a table may be read from now on. */
  onPublished(name: string, version: number): void;
}

/** Make readers that bring the copies in memory up to date, so that the next search need not. */
export function residentReaders(resident: ResidentIndexes, tables: LanceTables): IndexReaders {
  return {
    onCommitted: (name, commit) => resident.apply(name, commit),
    onPublished: (name, version) =>
      resident.refresh(name, version, () => tables.openForReading(name, version), tables.filesOf(name)),
  };
}

/** Readers that keep nothing. */
export const NO_READERS: IndexReaders = { onCommitted: () => undefined, onPublished: () => undefined };
