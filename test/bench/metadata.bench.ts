/**
 * Benchmark of statements over documents: an UPDATE of 2,000 documents without a reindex, and several conditions that
 * match 100 documents in a bucket of a million.
 */

import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { editDocuments } from '../../src/metadata/edit-documents.ts';
import { BulkEdit, type BulkEditReply } from '../../src/metadata/schema.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';

const EDITED = 2_000;
const LARGE = 1_000_000;
const MATCHES = 100;
const ROUNDS = 5;

const { dataDir, remove } = makeDataDir();
const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
  logger: openLogger('warn'),
});
const { sql, metadata } = appliance;
const operator = await appliance.access.operator('default');

/** Create a bucket of ingested documents of 30 teams. Each `group` has MATCHES documents. */
async function fill(name: string, documents: number): Promise<string> {
  const { id } = await createBucket(sql, operator, { name, policy: BucketPolicy.parse({}) });
  // Building the term index after the inserts takes a fraction of the time.
  const [index] = await sql`SELECT pg_get_indexdef('documents_by_term'::regclass) AS definition`;
  await sql`DROP INDEX documents_by_term`;
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, file_type, size_bytes, sha256, object_key, ingest_options,
                           status, metadata)
    SELECT 'doc_' || ${name}::text || lpad(n::text, 8, '0'), ${operator.orgId}, ${id}, 'file-' || n || '.txt', 'txt', 1,
           '\\x00', 'k', '{}', 'ready',
           jsonb_build_object('team', 'team-' || n % 30, 'group', 'group-' || lpad((n / ${MATCHES}::int)::text, 6, '0'),
                              'year', (1990 + n % 30)::text, 'source', 'archive ' || md5(n::text))
    FROM generate_series(0, ${documents - 1}::int) n`;
  await sql.unsafe(`SET maintenance_work_mem = '512MB'; ${index?.['definition'] as string}`);
  await sql`VACUUM ANALYZE documents`;
  return id;
}

async function timed(
  bucketId: string,
  statement: string,
): Promise<{ reply: BulkEditReply; ms: number; cpuMs: number }> {
  const request = BulkEdit.parse({ statement, reindex: false, limit: EDITED });
  const cpuBefore = process.cpuUsage();
  const beganMs = performance.now();
  const reply = await editDocuments(metadata, operator, bucketId, request);
  const ms = performance.now() - beganMs;
  const cpu = process.cpuUsage(cpuBefore);
  return { reply, ms, cpuMs: (cpu.user + cpu.system) / 1000 };
}

const show = (times: readonly number[]) => times.map((ms) => ms.toFixed(0)).join(' ');

async function update(bucketId: string, name: string): Promise<void> {
  const runs = [];
  for (let round = 0; round < ROUNDS; round++) {
    const run = await timed(
      bucketId,
      `UPDATE documents SET round = ${round} WHERE "group" < 'group-000020' AND id > ''`,
    );
    if (run.reply.updated !== EDITED) throw new Error(`${run.reply.updated} documents were updated`);
    runs.push(run);
  }
  console.log(
    `metadata UPDATE of ${EDITED} documents ${name}, reindex=false: ${show(runs.map(({ ms }) => ms))} ms, ${show(runs.map(({ cpuMs }) => cpuMs))} ms CPU (this process)`,
  );
}

try {
  await update(await fill('small', EDITED), 'of a bucket of as many');
  const large = await fill('large', LARGE);
  const conditions = [
    "group = 'group-004711'",
    "group IN ('group-004711', 'group-none')",
    "group LIKE 'group-0047_1' AND group LIKE 'group-00471%'",
    "team = 'team-7' AND group LIKE 'group-0047%'",
    "(group = 'group-000007' OR group = 'none') AND NOT year = 1",
  ];
  for (const condition of conditions) {
    const times: number[] = [];
    let matched = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const { reply, ms } = await timed(large, `SELECT documents WHERE ${condition}`);
      times.push(ms);
      matched = reply.matched;
    }
    console.log(`metadata SELECT of ${matched} in ${LARGE} documents: ${show(times)} ms (${condition})`);
  }
  const { reply, ms } = await timed(large, "UPDATE documents SET tag = 'x' WHERE group = 'group-004711'");
  console.log(`metadata UPDATE of ${reply.updated} in ${LARGE} documents: ${ms.toFixed(0)} ms`);
} finally {
  await appliance.close();
  remove();
}
