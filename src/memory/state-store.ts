import type { HeldJob } from '../jobs/store.ts';
import type { Sql } from '../platform/postgres.ts';
import type { ReaderState } from './readers/source-reader.ts';
import { lockSync, type Source } from './source-store.ts';

/** Maximum size of a reader's state, in bytes. A larger one is not kept. */
const STATE_BYTES_MAX = 64 * 1024 * 1024;

/** Read the saved state of a source's reader, or null. */
export async function loadState(sql: Sql, { orgId, id }: Pick<Source, 'orgId' | 'id'>): Promise<Buffer | null> {
  const [row] = await sql`SELECT state FROM source_states WHERE org_id = ${orgId} AND source_id = ${id}`;
  return row === undefined ? null : (row['state'] as Buffer);
}

/** Return access to the reader state of a source. Only the holder of the running synchronisation can save it. */
export function readerState(sql: Sql, source: Source, held: HeldJob): ReaderState {
  const { id, orgId } = source;
  return {
    load: () => loadState(sql, source),
    async save(state) {
      if (state.length > STATE_BYTES_MAX) return;
      await sql.begin(async (tx) => {
        if (!(await lockSync(tx, source, held))) return;
        await tx`
          INSERT INTO source_states (source_id, org_id, state) VALUES (${id}, ${orgId}, ${Buffer.from(state)})
          ON CONFLICT (source_id) DO UPDATE SET state = excluded.state`;
      });
    },
  };
}
