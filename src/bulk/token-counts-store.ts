import type { CountedTokens } from '../models/count-tokens.ts';
import type { Sql } from '../platform/postgres.ts';

const COUNT_BYTES = Uint32Array.BYTES_PER_ELEMENT;

/** Keep the tokens of all texts of a job, in their order. */
export async function updateTokenCounts(sql: Sql, jobId: string, counted: CountedTokens): Promise<void> {
  const bytes = Buffer.alloc(counted.tokens.length * COUNT_BYTES);
  for (const [index, tokens] of counted.tokens.entries()) bytes.writeUInt32LE(tokens, index * COUNT_BYTES);
  await sql`
    UPDATE bulk_jobs SET token_counts = ${bytes}::bytea, counted_by = ${counted.model} WHERE job_id = ${jobId}`;
}

/** Copy the tokens of the texts of a job to another one that has the same texts. */
export async function copyTokenCounts(sql: Sql, fromJobId: string, toJobId: string): Promise<void> {
  await sql`
    UPDATE bulk_jobs SET token_counts = origin.token_counts, counted_by = origin.counted_by FROM bulk_jobs AS origin
    WHERE bulk_jobs.job_id = ${toJobId} AND origin.job_id = ${fromJobId}`;
}

/** Read the tokens of the texts of a job; null for a job of a version that did not keep them. */
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
