/**
 * Benchmark of hybrid searches among documents that name groups: 100,000 documents, each with one to three of 1,000
 * groups, and a caller in 200 of them, who may read about a third. The same searches run before, when no document names a
 * group. Then the caller leaves all groups but one. Arguments: the number of documents.
 */
import { addMembers, removeMembers } from '../../src/access/groups/group-store.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { analyse } from '../../src/language/analyser.ts';
import { drawQueries } from '../support/real-passages.ts';
import { until } from '../support/until.ts';
import { LeanClient } from './lean-client.ts';
import { type SearchBucket, untilResident, withSearchBucket } from './search/open-bucket.ts';

const DOCUMENTS = Number(process.argv[2] ?? 100_000);
const GROUPS = 1_000;
const OWN_GROUPS = 200;
const QUERIES = 300;
const WARM_UP = 100;

const residentMb = Math.max(512, Math.ceil(DOCUMENTS / 200));
await withSearchBucket({ chunks: DOCUMENTS, chunksPerDocument: 1, teams: 200, residentMb }, measure);

async function measure(bucket: SearchBucket): Promise<void> {
  const { appliance, bucketId, base, url, key, passages } = bucket;
  const { orgId } = await appliance.access.operator('default');
  const member = `key:${key.split('_')[1]}`;
  const sample = Array.from({ length: QUERIES }, (_, nth) => passages.at(Math.floor((nth * DOCUMENTS) / QUERIES)));
  const queries = drawQueries(sample, QUERIES).filter((query) => analyse(query).length > 0);
  const client = await LeanClient.open(url, { authorization: `Bearer ${key}` });
  const search = async (query: string) => {
    const beganMs = performance.now();
    await client.post(JSON.stringify({ query, mode: 'hybrid', top_k: 10 }));
    return performance.now() - beganMs;
  };
  const run = async () => {
    const times: number[] = [];
    for (const [nth, query] of [...queries.slice(0, WARM_UP), ...queries].entries()) {
      const tookMs = await search(query);
      if (nth >= WARM_UP) times.push(tookMs);
    }
    return times.sort((a, b) => a - b);
  };
  const inGroups = async (count: number) => {
    const groups = async () => {
      const me = await fetch(`${base}/v1/me`, { headers: { authorization: `Bearer ${key}` } });
      return ((await me.json()) as { groups: string[] }).groups.length;
    };
    await until(async () => (await groups()) === count, { what: 'the groups of the caller' });
  };
  await search(queries[0] as string);
  await untilResident(bucket);
  const without = await run();
  await nameGroups(appliance, orgId, bucketId);
  const names = Array.from({ length: OWN_GROUPS }, (_, nth) => `group-${nth + 1}`);
  for (const name of names) await addMembers(appliance.sql, orgId, name, [member]);
  await inGroups(OWN_GROUPS);
  print('in 200 groups', await run(), without);
  for (const name of names.slice(1)) await removeMembers(appliance.sql, orgId, name, [member]);
  await inGroups(1);
  print('in 1 group', await run(), without);
  client.close();
}

async function nameGroups({ sql }: Appliance, orgId: string, bucketId: string): Promise<void> {
  await sql`INSERT INTO groups (org_id, name) SELECT ${orgId}, 'group-' || n FROM generate_series(1, ${GROUPS}) AS n`;
  await sql`
    UPDATE documents SET access_list = ARRAY(
      SELECT DISTINCT 'group:group-' || (1 + abs(hashtextextended(documents.id, n)) % ${GROUPS})
      FROM generate_series(1, 1 + abs(hashtextextended(documents.id, 9)) % 3) AS n ORDER BY 1)
    WHERE bucket_id = ${bucketId}`;
  await sql`ANALYZE documents`;
}

function print(name: string, times: readonly number[], without: readonly number[]): void {
  const at = (sorted: readonly number[], part: number) => sorted[Math.floor(sorted.length * part)] as number;
  console.log(
    `groups   ${DOCUMENTS} documents, ${name}: ${at(times, 0.5).toFixed(1)} ms p50, ${at(times, 0.99).toFixed(1)} p99; ` +
      `without groups ${at(without, 0.5).toFixed(1)}, ${at(without, 0.99).toFixed(1)}; ` +
      `${(at(times, 0.5) / at(without, 0.5)).toFixed(2)} at p50 (goal <= 1.5 in 200)`,
  );
}
