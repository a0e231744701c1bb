import type { Sql } from '../platform/postgres.ts';
import type { EntryFault } from './readers/source-reader.ts';
import type { SourceFaultView } from './schema.ts';
import type { Source } from './source-store.ts';

/** Maximum number of faults kept per source. */
export const FAULTS_MAX = 10_000;

/**
 * Replace the faults of the previous synchronisation. A fault that persists keeps its time.
 *
 * @param faults at most `FAULTS_MAX`
 * @param keys entries and folders that were synchronised separately: replace only their faults and those below the
 *   folders; null to replace all
 */
export async function replaceFaults(
  tx: Sql,
  { orgId, id }: Pick<Source, 'orgId' | 'id'>,
  faults: readonly EntryFault[],
  keys: readonly string[] | null,
): Promise<void> {
  const rows = [...new Map(faults.map((fault) => [fault.key, fault])).values()];
  const list = (values: readonly string[]) => tx.array([...values]);
  const current = list(rows.map(({ key }) => key));
  const retried = tx`AND EXISTS (
    SELECT 1 FROM unnest(${list(keys ?? [])}::text[]) AS retried (key)
    WHERE source_faults.key = retried.key OR starts_with(source_faults.key, retried.key || '/'))`;
  await tx`
    DELETE FROM source_faults WHERE org_id = ${orgId} AND source_id = ${id} AND key <> ALL(${current}::text[])
      ${keys === null ? tx`` : retried}`;
  if (rows.length === 0) return;
  await tx`
    INSERT INTO source_faults (org_id, source_id, key, is_folder, fault)
    SELECT ${orgId}, ${id}, key, is_folder::boolean, fault
    FROM unnest(${current}::text[], ${list(rows.map(({ isFolder }) => String(isFolder === true)))}::text[],
                ${list(rows.map(({ fault }) => fault))}::text[]) AS row (key, is_folder, fault)
    ON CONFLICT (source_id, key) DO UPDATE SET is_folder = excluded.is_folder, fault = excluded.fault`;
}

/** List the entries that the last synchronisation of a source couldn't read, by key. */
export async function listFaults(
  sql: Sql,
  { orgId, id }: Pick<Source, 'orgId' | 'id'>,
  page: { readonly limit: number; readonly after: string | undefined },
): Promise<SourceFaultView[]> {
  const rows = await sql<(Omit<SourceFaultView, 'since'> & { readonly since: Date })[]>`
    SELECT key, is_folder, fault, since FROM source_faults
    WHERE org_id = ${orgId} AND source_id = ${id} AND key > ${page.after ?? ''} ORDER BY key LIMIT ${page.limit}`;
  return rows.map((row) => ({ ...row, since: row.since.toISOString() }));
}
