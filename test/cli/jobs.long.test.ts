import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { runCommand } from './service.ts';

// Commands are slow on a busy machine, and each test runs several.
vi.setConfig({ testTimeout: 120_000 });

let appliance: TestAppliance;
let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  appliance = await openTestAppliance();
  folder = mkdtempSync(path.join(tmpdir(), 'service-jobs-'));
  env = { SERVICE_DATA_DIR: appliance.dataDir, DATABASE_URL: appliance.databaseUrl };
});
afterAll(async () => {
  await appliance.close();
  rmSync(folder, { recursive: true, force: true });
});

const service = (...args: string[]) => runCommand(args, env);

let uploads = 0;
/** Create a job of a new document in this state. */
async function jobIn(status: string): Promise<string> {
  const bytes = Buffer.from(`Text number ${++uploads}.\n`);
  const content = { bytes, fileName: `file ${uploads}.txt`, contentType: null };
  const { sql, ingest } = appliance.appliance;
  const context = ingest.uploads;
  const reply = await uploadDocument(context, appliance.operator, 'default', content, UploadRequest.parse({}));
  await sql`UPDATE jobs SET status = ${status}, checkpoint_at = now() WHERE id = ${reply.job_id}`;
  return reply.job_id as string;
}

const stateOf = async (id: string) =>
  (await appliance.appliance.sql`SELECT status FROM jobs WHERE id = ${id}`)[0]?.['status'];

test('jobs cancel cancels a queued job, one in progress only with --force, and no finished one', async () => {
  const queued = await jobIn('queued');
  const cancelled = await service('jobs', 'cancel', queued, '--json');
  expect([cancelled.code, cancelled.json()]).toEqual([0, { status: 'cancelled' }]);
  const again = await service('jobs', 'cancel', queued, '--json');
  expect([again.code, again.json().error.code]).toEqual([4, 'job_already_finished']);

  const running = await jobIn('embedding');
  const refused = await service('jobs', 'cancel', running);
  expect(refused).toMatchObject({ code: 4, stdout: '', stderr: expect.stringContaining('embedding') });
  const forced = await service('jobs', 'cancel', running, '--force');
  expect(forced).toMatchObject({ code: 0, stdout: `cancelled ${running}\n` });
  expect(await stateOf(running)).toBe('cancelled');
});

test('jobs reprocess prints the new job, which is queued', async () => {
  const failed = await jobIn('failed');
  const again = await service('jobs', 'reprocess', failed, '--json');
  expect(again.code).toBe(0);
  expect(again.json()).toMatchObject({ status: 'queued', reprocess_of_job_id: failed });
  const early = await service('jobs', 'reprocess', again.json().id, '--json');
  expect([early.code, early.json().error.code]).toEqual([4, 'job_not_terminal']);
  expect((await service('jobs', 'reprocess', failed)).stdout).toMatch(
    new RegExp(`^reprocess_of_job_id +${failed}$`, 'm'),
  );
});

test('jobs delete asks, and deletes only a job that is not in progress', async () => {
  const ready = await jobIn('ready');
  expect(await service('jobs', 'delete', ready)).toMatchObject({ code: 2, stdout: '' });
  const deleted = await service('jobs', 'delete', ready, '--yes', '--json');
  expect([deleted.code, deleted.json()]).toEqual([0, { id: ready, deleted: true }]);
  expect(await stateOf(ready)).toBeUndefined();
  const running = await jobIn('indexing');
  expect(await service('jobs', 'delete', running, '--yes')).toMatchObject({ code: 4 });
  expect(await stateOf(running)).toBe('indexing');
});

test('jobs reap lists stale jobs, and marks them as failed unless it is a dry run', async () => {
  const stale = await jobIn('extracting');
  const { sql } = appliance.appliance;
  await sql`UPDATE jobs SET checkpoint_at = now() - interval '20 minutes' WHERE id = ${stale}`;
  const body = {
    timeout_minutes: 10,
    reaped_count: 1,
    jobs: [{ job_id: stale, org_id: appliance.operator.orgId, stuck_status: 'extracting' }],
  };
  const dry = await service('jobs', 'reap', '--timeout-minutes', '10', '--dry-run', '--json');
  expect([dry.code, dry.json()]).toEqual([0, body]);
  expect(await stateOf(stale)).toBe('extracting');
  const reaped = await service('jobs', 'reap', '--timeout-minutes', '10', '--json');
  expect([reaped.code, reaped.json()]).toEqual([0, body]);
  expect(await stateOf(stale)).toBe('failed');
  expect(await service('jobs', 'reap')).toMatchObject({ code: 0, stdout: '', stderr: 'no stale jobs\n' });
  for (const minutes of ['0', '1441', 'x']) {
    const wrong = await service('jobs', 'reap', '--timeout-minutes', minutes, '--json');
    expect([wrong.code, wrong.json().error.message]).toEqual([2, expect.stringContaining('--timeout-minutes')]);
  }
  const [row] = await sql`SELECT actor FROM audit_log WHERE action = 'job.reap' AND target = ${stale}`;
  expect(row?.['actor']).toMatch(/^operator:/);
});

test('jobs download writes to a named file or to stdout, and replaces a file only with --force', async () => {
  const job = await jobIn('ready');
  const text = `Text number ${uploads}.\n`;
  const place = path.join(folder, 'downloads');
  mkdirSync(place);
  const out = path.join(place, 'saved.txt');
  const saved = await service('jobs', 'download', job, '--out', out, '--json');
  expect([saved.code, saved.json()]).toEqual([
    0,
    { id: job, file: out, media_type: 'application/octet-stream', size_bytes: text.length },
  ]);
  expect(readFileSync(out, 'utf8')).toBe(text);
  writeFileSync(out, 'precious');
  expect(await service('jobs', 'download', job, '--out', out)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('--force'),
  });
  expect(readFileSync(out, 'utf8')).toBe('precious');
  expect(await service('jobs', 'download', job, '--out', out, '--force')).toMatchObject({ code: 0 });
  expect(readFileSync(out, 'utf8')).toBe(text);
  expect(await service('jobs', 'download', job, '--out', '-')).toMatchObject({ code: 0, stdout: text });
  expect(await service('jobs', 'download', job, '--out', '-', '--json')).toMatchObject({ code: 2 });
  expect(await service('jobs', 'download', job, '--out', path.join(place, 'none', 'x'))).toMatchObject({ code: 4 });
  expect(readdirSync(place)).toEqual(['saved.txt']);

  const [row] = await appliance.appliance.sql`SELECT s3_key FROM jobs WHERE id = ${job}`;
  await appliance.appliance.objects.delete(row?.['s3_key']);
  const missing = path.join(place, 'missing.txt');
  expect(await service('jobs', 'download', job, '--out', missing)).toMatchObject({ code: 3 });
  expect(existsSync(missing)).toBe(false);
});

test.each(['cancel', 'reprocess', 'delete --yes', 'download', 'show'])(
  'jobs %s of an unknown job exits with 3',
  async (command) => {
    const [name = '', ...flags] = command.split(' ');
    const foreign = await jobIn('ready');
    await appliance.appliance.access.createOrganization({ name: `other-${name}`, plan: 'free' });
    for (const args of [['job_missing'], [foreign, '--org', `other-${name}`]]) {
      const finished = await service('jobs', name, ...args, ...flags, '--json');
      expect([finished.code, finished.json().error.code]).toEqual([3, 'job_not_found']);
    }
  },
);
