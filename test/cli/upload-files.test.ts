import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ownWorker } from '../../src/cli/own-worker.ts';
import { openSession } from '../../src/cli/session.ts';
import { type FileOutcome, uploadFiles, waitForJobs } from '../../src/cli/upload-files.ts';
import { findBucket, listBuckets } from '../../src/documents/buckets.ts';
import { deleteDocument, listDocuments } from '../../src/documents/documents.ts';
import { ListDocumentsQuery } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { installationOf, openTestAppliance, type TestAppliance } from '../support/appliance.ts';

let service: TestAppliance;
let folder: string;
const request = UploadRequest.parse({});

beforeAll(async () => {
  service = await openTestAppliance({ limits: { upload_bytes: 1000 } });
  folder = mkdtempSync(path.join(tmpdir(), 'upload-'));
  chmodSync(folder, 0o755);
});

afterAll(async () => {
  await service.close();
  rmSync(folder, { recursive: true, force: true });
});

function makeFile(name: string, content: string) {
  const file = path.join(folder, name);
  writeFileSync(file, content);
  return { path: file, sourcePath: `from/${name}` };
}

/** Session whose operations run in this process. */
function sessionHere(signal: AbortSignal) {
  const options = { dataDir: '/nowhere', env: {}, version: '0', org: 'default', signal };
  return openSession({ ...options, openInstallation: async () => installationOf(service.appliance) });
}

async function upload(files: { path: string; sourcePath: string }[], signal = new AbortController().signal) {
  const { appliance, operator } = service;
  const bucket = await findBucket(appliance.sql, operator, 'default');
  const outcomes: FileOutcome[] = [];
  const reported: FileOutcome[] = [];
  const run = { outcomes, onOutcome: (outcome: FileOutcome) => reported.push(outcome), signal };
  await uploadFiles(sessionHere(run.signal), { bucketId: bucket.id, request }, files, run);
  expect(reported).toEqual(outcomes);
  return outcomes.sort((a, b) => (a.source_path < b.source_path ? -1 : 1));
}

async function countDocuments(): Promise<number> {
  const buckets = await listBuckets(service.appliance.sql, service.operator);
  return buckets.reduce((sum, bucket) => sum + (bucket.document_count ?? 0), 0);
}

test('a fault of one file does not stop the others, and every file stays as it was', async () => {
  const files = [
    makeFile('good.md', '# Title\n\nA passage.'),
    makeFile('empty.txt', ''),
    makeFile('large.txt', 'x'.repeat(1001)),
    makeFile('new\nline.txt', 'a name that nobody can show'),
    { path: path.join(folder, 'gone.txt'), sourcePath: 'gone.txt' },
  ];
  const outcomes = await upload(files);
  expect(outcomes.map((outcome) => [outcome.source_path, outcome.status, outcome.error?.category])).toEqual([
    ['from/empty.txt', 'failed', 'empty_file'],
    ['from/good.md', 'queued', undefined],
    ['from/large.txt', 'failed', 'too_large'],
    ['from/new\nline.txt', 'failed', 'invalid_request'],
    ['gone.txt', 'failed', 'file_not_found'],
  ]);
  expect(readFileSync(path.join(folder, 'good.md'), 'utf8')).toBe('# Title\n\nA passage.');
  for (const file of files.slice(0, 4)) expect(existsSync(file.path)).toBe(true);

  const { appliance, operator } = service;
  const page = await listDocuments(appliance.sql, operator, 'default', ListDocumentsQuery.parse({}));
  expect(page.data).toHaveLength(1);
  expect(page.data[0]).toMatchObject({ file_name: 'good.md', source_path: 'from/good.md', status: 'queued' });
});

test('a file without read permission is a failed outcome', async () => {
  const secret = makeFile('secret.txt', 'nobody may read this');
  chmodSync(secret.path, 0);
  // Root can read everything, so another user reads.
  const isRoot = process.getuid?.() === 0;
  const user = isRoot ? 'nobody' : userInfo().username;
  const { appliance, operator } = service;
  const bucket = await findBucket(appliance.sql, operator, 'default');
  const outcomes: FileOutcome[] = [];
  if (isRoot) process.seteuid?.(65534);
  try {
    const run = { outcomes, onOutcome: () => undefined, signal: new AbortController().signal };
    await uploadFiles(sessionHere(run.signal), { bucketId: bucket.id, request }, [secret], run);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
  expect(outcomes).toEqual([
    expect.objectContaining({
      status: 'failed',
      error: {
        category: 'file_unreadable',
        message: `cannot read ${secret.path} (EACCES): the user "${user}" may not read it; copy it to where this user can read it, or change its permissions`,
      },
    }),
  ]);
});

test('an abort keeps the uploaded files and drops the others completely', async () => {
  const before = await countDocuments();
  const abort = new AbortController();
  const files = Array.from({ length: 40 }, (_, index) => makeFile(`many-${index}.txt`, `text ${index}`));
  const { appliance, operator } = service;
  const bucket = await findBucket(appliance.sql, operator, 'default');
  const outcomes: FileOutcome[] = [];
  const onOutcome = () => {
    if (outcomes.length === 10) abort.abort(new Error('stop'));
  };
  const run = { outcomes, onOutcome, signal: abort.signal };
  await expect(uploadFiles(sessionHere(run.signal), { bucketId: bucket.id, request }, files, run)).rejects.toThrow(
    'stop',
  );
  expect(outcomes.length).toBeGreaterThanOrEqual(10);
  expect(outcomes.length).toBeLessThan(40);
  expect((await countDocuments()) - before).toBe(outcomes.length);
});

test('waitForJobs ends when all jobs have ended, those of linked files and cancelled ones included', async () => {
  const { appliance, operator } = service;
  const [kept] = await upload([makeFile('kept.md', '# Kept\n\nThe passage to keep.')]);
  const [twin] = await upload([makeFile('twin.md', '# Kept\n\nThe passage to keep.')]);
  const [dropped] = await upload([makeFile('dropped.md', '# Dropped\n\nAnother passage.')]);
  expect(twin).toMatchObject({ status: 'queued', duplicate_of: kept?.id, id: kept?.id });
  await deleteDocument(appliance.sql, operator, 'default', dropped?.id as string);

  const worker = appliance.jobs.worker('ingest');
  const signal = AbortSignal.timeout(20_000);
  await worker.start(signal);
  try {
    const session = sessionHere(signal);
    const final = await waitForJobs(session, [kept, twin, dropped] as FileOutcome[], {
      worker: ownWorker(session, signal),
      onOutcome: () => undefined,
    });
    expect(final.map((outcome) => [outcome.source_path, outcome.status, outcome.error?.category])).toEqual([
      ['from/kept.md', 'ready', undefined],
      ['from/twin.md', 'linked', undefined],
      ['from/dropped.md', 'failed', 'cancelled'],
    ]);
  } finally {
    await worker.stop();
  }
});
