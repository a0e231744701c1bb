import type { TableCopies } from '../copies/table-copies.ts';
import type { LanceTables } from '../lance/lance.ts';

/** Called when a version of a table may be read from now on. */
export type OnPublished = (name: string, version: number) => void;

/** Bring copies in memory up to date with each published version, so that the next search need not. */
export function refreshCopies(copies: TableCopies, tables: LanceTables): OnPublished {
  return (name, version) => copies.refresh(name, version, () => tables.openForReading(name, version));
}
