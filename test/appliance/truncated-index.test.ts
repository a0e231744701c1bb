import { readdirSync, truncateSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examineRunning } from '../../src/cli/doctor.ts';
import { findTruncated } from '../../src/index/lance/find-truncated.ts';
import { indexDirectory } from '../../src/index/lance/open-tables.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { generationOf } from '../index/draw-rows.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { registerGeneration } from '../support/generations.ts';
import { originIn } from '../support/origins.ts';
import { until } from '../support/until.ts';

let installation: TestAppliance;
beforeAll(async () => {
  installation = await openTestAppliance();
});
afterAll(() => installation.close());

/** Return the check of the index files by `service doctor`. */
async function diagnose() {
  const { sql, config } = installation.appliance;
  for await (const check of examineRunning({ sql, config, logger: openLogger('silent') })) {
    if (check.name === 'index files') return check;
  }
  return null;
}

test('a truncated index file shows in the readiness and in the diagnosis, with its bucket and the remedy', async () => {
  const { appliance, operator } = installation;
  const { sql, search, config } = appliance;
  const [{ id: bucketId }] = await sql<[{ id: string }]>`SELECT id FROM buckets WHERE org_id = ${operator.orgId}`;
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status)
    VALUES ('doc_1', ${operator.orgId}, ${bucketId}, 'f', 1, '', 'o', '{}', 'ready')`;
  await registerGeneration(sql, { id: 1, orgId: operator.orgId, bucketId });
  await search.index.append(bucketId, generationOf(1, ['heron', 'crane']), originIn('lexical-1'));
  expect(await diagnose()).toMatchObject({ status: 'ok', detail: 'complete' });

  const directory = indexDirectory(config);
  const [file] = readdirSync(path.join(directory, `${bucketId}.lance`, 'data')) as [string];
  const damaged = path.join(`${bucketId}.lance`, 'data', file);
  truncateSync(path.join(directory, damaged), 100);
  expect(await findTruncated(directory, 10)).toEqual([damaged]);
  const detail = expect.stringMatching(new RegExp(`^truncated in ${bucketId}; .*service index rebuild`));
  expect(await diagnose()).toMatchObject({ status: 'down', detail });
  // Files are examined in the background; the first call begins it.
  const readiness = await until(async () => {
    const answer = await appliance.checkReady();
    return answer.status !== 'ok' && answer;
  });
  expect(readiness).toMatchObject({
    status: 'degraded',
    checks: { index: 'ok', index_files: expect.stringContaining('service doctor') },
  });
});

test('an index that does not exist yet has no truncated files', async () => {
  expect(await findTruncated(path.join(installation.dataDir, 'nowhere'), 10)).toEqual([]);
});
