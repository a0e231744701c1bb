import { afterEach, beforeEach, expect, it } from 'vitest';
import { type SweepCursor, sweepGenerations } from '../../src/index/writing/sweep.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';

const DOCUMENTS = 100;
/** Generations that belong to no attempt and no document, at the begin, in the middle and at the end. */
const DEAD = [1, 55, DOCUMENTS];
const RANGE_MAX = 10;

let test: TestAppliance;
beforeEach(async () => {
  test = await openTestAppliance();
  const { sql } = test.appliance;
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status,
                           active_generation)
    SELECT 'doc_' || n, org_id, id, 'f', 1, '', 'o', '{}', 'ready', CASE WHEN n <> ALL(${DEAD}) THEN n END
    FROM buckets, generate_series(1, ${DOCUMENTS}::int) AS n WHERE name = 'default'`;
  await sql`
    INSERT INTO generations (id, org_id, bucket_id, document_id, job_id, artifact_key, chunks_count, embed_model, space)
    SELECT substr(id, 5)::int, org_id, bucket_id, id, 'job_x', 'a/' || id, 1, 'm', 's' FROM documents`;
});
afterEach(() => test.close());

async function sweep(cursor: SweepCursor): Promise<number> {
  const { sql, objects, search, logger } = test.appliance;
  return sweepGenerations(
    { sql, objects, index: search.index, logger },
    new AbortController().signal,
    cursor,
    RANGE_MAX,
  );
}

it('a sweep looks at the next three ranges of generations, and after the last one at the first', async () => {
  const { sql } = test.appliance;
  const cursor: SweepCursor = { after: 50 };
  expect([await sweep(cursor), cursor.after]).toEqual([1, 80]);
  expect([await sweep(cursor), cursor.after]).toEqual([2, 10]);
  const [row] = await sql`SELECT count(*) AS n, bool_or(id = ANY(${DEAD})) AS dead FROM generations`;
  expect(row).toEqual({ n: DOCUMENTS - DEAD.length, dead: false });
});

it('sweeps that begin anywhere find every dead generation', async () => {
  const cursor: SweepCursor = { after: null };
  let swept = 0;
  for (let sweeps = 0; sweeps * 3 * RANGE_MAX <= DOCUMENTS + RANGE_MAX; sweeps++) swept += await sweep(cursor);
  expect(swept).toBe(DEAD.length);
});
