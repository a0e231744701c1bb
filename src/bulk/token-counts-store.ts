import type { CountedTokens } from '../models/count-tokens.ts';
import type { Sql } from '../platform/postgres.ts';

const COUNT_BYTES = Uint32Array.BYTES_PER_ELEMENT;

/** Encode token counts for the column `token_counts`: 32-bit little-endian numbers. */
export function tokenBytes(tokens: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(tokens.length * COUNT_BYTES);
  for (const [index, count] of tokens.entries()) bytes.writeUInt32LE(count, index * COUNT_BYTES);
  return bytes;
}

/** Read the token counts of a job's texts. Return null for a job of a release that didn't store them. */
export async function selectTokenCounts(sql: Sql, jobId: string): Promise<CountedTokens | null> {
  const [row] = await sql<{ token_counts: Uint8Array; counted_by: string }[]>`
    SELECT token_counts, counted_by FROM bulk_jobs WHERE job_id = ${jobId} AND token_counts IS NOT NULL`;
  if (row === undefined) return null;
  const { buffer, byteOffset, byteLength } = row.token_counts;
  const view = new DataView(buffer, byteOffset, byteLength);
  const tokens = Array.from({ length: byteLength / COUNT_BYTES }, (_, index) =>
    view.getUint32(index * COUNT_BYTES, true),
  );
  return { model: row.counted_by, tokens };
}
