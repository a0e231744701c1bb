import { JsonLinesWriter, writeLineFile } from '../backup/files.ts';
import { selectColumns } from '../backup/snapshot-store.ts';
import type { BackupTarget } from '../backup/target.ts';
import type { Sql } from '../platform/postgres.ts';
import { seal, unseal } from '../platform/seal.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import type { ExportKey } from './export-key.ts';
import { copyRowsOf, selectSealed } from './export-store.ts';
import type { SealedValue, TableFile } from './schema.ts';
import type { MovedTable } from './tables.ts';

interface RowsContext {
  readonly place: BackupTarget;
  readonly signal: AbortSignal;
  readonly onTable?: (done: number) => void;
}

/** Write the rows of tables to files, within a transaction prepared by `prepareExport`. */
export async function writeTables(
  tx: Sql,
  tables: readonly MovedTable[],
  keyOf: (table: string) => string,
  { place, signal, onTable }: RowsContext,
): Promise<TableFile[]> {
  const files: TableFile[] = [];
  for (const table of tables) {
    signal.throwIfAborted();
    const all = await selectColumns(tx, table.name);
    const columns = all.filter((column) => table.omitted?.includes(column) !== true);
    const file = await copyRowsOf(tx, table, columns, (rows) =>
      writeLineFile(place.objects, keyOf(table.name), rows, signal),
    );
    files.push({ ...file, table: table.name, columns });
    onTable?.(files.length);
  }
  return files;
}

/**
 * Write the encrypted values of tables to a file, re-encrypted from the installation's key to the export key.
 * @throws AppError `sealed_value_unreadable` (500)
 */
export async function writeSealed(
  tx: Sql,
  tables: readonly MovedTable[],
  fileKey: string,
  context: Omit<RowsContext, 'onTable'> & { readonly keyRing: Pick<KeyRing, 'encryption'>; readonly key: ExportKey },
): Promise<ReturnType<JsonLinesWriter['close']>> {
  const { place, signal, keyRing, key } = context;
  const writer = new JsonLinesWriter(place.objects, fileKey, signal);
  try {
    for (const table of tables) {
      const { sealed: about } = table;
      if (about === undefined) continue;
      for (const column of about.columns) {
        for (const { row, sealed } of await selectSealed(tx, table, { key: about.key, column })) {
          const identity = about.contextOf(row);
          const again = seal(key.encryption, unseal(keyRing.encryption, sealed, identity), identity);
          const value: SealedValue = { table: table.name, column, row: textsOf(row), sealed: again.toString('base64') };
          await writer.write(value);
        }
      }
    }
    return await writer.close();
  } catch (error) {
    await writer.abandon(error as Error);
    throw error;
  }
}

/** Return key columns as PostgreSQL prints them. */
function textsOf(row: Readonly<Record<string, string | Buffer>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : String(value),
    ]),
  );
}
