import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';
import { runCommand, runService, startService } from './service.ts';

vi.setConfig({ testTimeout: 120_000 });

let appliance: TestAppliance;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  appliance = await openTestAppliance();
  env = { SERVICE_DATA_DIR: appliance.dataDir, DATABASE_URL: appliance.databaseUrl };
});
afterAll(() => appliance.close());

let uploads = 0;
/** Create a job whose worker is gone. */
async function lostJob(): Promise<string> {
  const content = { bytes: Buffer.from(`Text ${++uploads}.`), fileName: 'a.txt', contentType: null };
  const { sql, ingest } = appliance.appliance;
  const context = ingest.uploads;
  const { job_id } = await uploadDocument(context, appliance.operator, 'default', content, UploadRequest.parse({}));
  await sql`
    UPDATE jobs SET status = 'chunking', worker_id = 'wrk_gone', lease_expires_at = now() - interval '1 second'
    WHERE id = ${job_id}`;
  return job_id as string;
}

const stateOf = async (id: string) =>
  (await appliance.appliance.sql`SELECT status FROM jobs WHERE id = ${id}`)[0]?.['status'];

test('reaper --once queues jobs of dead workers again and removes orphaned files', async () => {
  const { objects } = appliance.appliance;
  const lost = await lostJob();
  const orphan = 'documents/org_gone/doc_00000000000000000000000000/original';
  await objects.put(orphan, Buffer.from('x'));
  const once = await runService(['reaper', '--once', '--json'], env);
  expect(once.code).toBe(0);
  expect(once.json().done).toEqual(
    expect.arrayContaining(['recovery of jobs', 'removal of deleted documents', 'removal of orphaned files']),
  );
  expect(await stateOf(lost)).toBe('queued');
  expect(await objects.head(orphan)).toBeNull();
});

test('reaper runs until it is stopped, and refuses a wrong interval', async () => {
  const running = startService(['reaper', '--every', '1s'], env);
  await until(async () => running.output().stdout === 'reaping every 1s\n', { what: 'ready' });
  const lost = await lostJob();
  await until(async () => (await stateOf(lost)) === 'queued');
  running.child.kill('SIGTERM');
  expect(await running.finished).toMatchObject({ code: 0 });
  for (const every of ['soon', '0s', '60'])
    expect(await runCommand(['reaper', '--every', every], env)).toMatchObject({ code: 2 });
});
