import type { Table } from '@lancedb/lancedb';
import type { TableCopies } from '../../src/index/copies/table-copies.ts';
import type { LanceTables } from '../../src/index/lance/lance.ts';
import { until } from '../support/until.ts';

/** Wait until the copy of a table has neither more nor fewer rows than the table. @returns the version of the table */
export async function untilCurrent(copies: TableCopies, tables: LanceTables, table: Table): Promise<number> {
  const version = await table.version();
  const find = () => copies.find(table.name, version, () => tables.openForReading(table.name, version));
  const isCurrent = async () => {
    const copy = await find();
    // A copy most of whose rows are gone is dropped and read anew.
    return copy !== null && !(await copy.hasGone(table)) && (await find()) === copy;
  };
  await until(isCurrent, { what: 'a copy without rows that are gone' });
  return version;
}
