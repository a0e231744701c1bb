import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { runCommand, runService } from './service.ts';

// Commands are slow on a busy machine, and each test runs several.
vi.setConfig({ testTimeout: 120_000 });

let installation: TestAppliance;
let env: NodeJS.ProcessEnv;
beforeAll(async () => {
  installation = await openTestAppliance();
  env = { SERVICE_DATA_DIR: installation.dataDir, DATABASE_URL: installation.databaseUrl };
  const { sql } = installation.appliance;
  await createBucket(sql, installation.operator, { name: 'manuals', policy: BucketPolicy.parse({}) });
});
afterAll(() => installation.close());

const buckets = (...args: string[]) => runCommand(['buckets', ...args], env);

test('set-policy changes the settings of its flags, and reports documents beyond the policy', async () => {
  const content = { bytes: Buffer.from('a'), fileName: 'a.txt', contentType: null };
  const request = UploadRequest.parse({ privacy_level: 8 });
  await uploadDocument(installation.appliance.ingest.uploads, installation.operator, 'manuals', content, request);
  const set = await buckets(
    ...['set-policy', 'manuals', '--max-privacy-level', '5', '--no-allow-public'],
    ...['--department', 'sales', '--department', 'legal', '--yes'],
  );
  expect(set).toMatchObject({ code: 0, stderr: 'warning: documents with a privacy_level above 5 keep it: 1\n' });
  expect(set.stdout).toContain('manuals');
  const shown = await buckets('show', 'manuals', '--json');
  expect(shown.json()).toMatchObject({
    name: 'manuals',
    policy: {
      ...{ max_privacy_level: 5, public_max_privacy_level: 1, allow_public: false },
      departments: ['sales', 'legal'],
    },
  });
  const again = await buckets('set-policy', 'manuals', '--any-department', '--allow-public', '--yes', '--json');
  expect(again).toMatchObject({ code: 0, stderr: '' });
  const { warnings, ...bucket } = again.json();
  expect(warnings).toEqual(['documents with a privacy_level above 5 keep it: 1']);
  expect(bucket.policy).toEqual({ max_privacy_level: 5, public_max_privacy_level: 1, allow_public: true });
  expect((await buckets('show', bucket.id)).stdout).toContain('max_privacy_level');
});

test('set-policy, keys rotate and projections activate change nothing without a confirmation', async () => {
  const before = await buckets('show', 'manuals', '--json');
  const refused = await buckets('set-policy', 'manuals', '--max-privacy-level', '2', '--json');
  expect([refused.code, refused.json().error.code]).toEqual([2, 'confirmation_missing']);
  expect((await buckets('show', 'manuals', '--json')).json()).toEqual(before.json());
  const key = (await runCommand(['keys', 'create', '--name', 'kept', '--json'], env)).json();
  const rotate = await runCommand(['keys', 'rotate', key.id, '--json'], env);
  expect([rotate.code, rotate.json().error.code]).toEqual([2, 'confirmation_missing']);
  // An unknown key or map is reported before anybody is asked.
  expect(await runCommand(['keys', 'rotate', 'nothing'], env)).toMatchObject({ code: 3 });
  expect(await runCommand(['projections', 'activate', '99'], env)).toMatchObject({ code: 3 });
});

test('buckets commands exit with 2 for wrong usage and with 3 for a missing bucket', async () => {
  const nothing = await buckets('set-policy', 'manuals');
  expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining('name at least one setting to change') });
  const level = await buckets('set-policy', 'manuals', '--max-privacy-level', '11');
  expect(level.code).toBe(2);
  const department = await buckets('set-policy', 'manuals', '--department', 'x'.repeat(200), '--yes');
  expect(department).toMatchObject({ code: 2, stderr: expect.stringContaining('departments') });
  const both = await buckets('set-policy', 'manuals', '--department', 'a', '--any-department');
  expect(both.code).toBe(2);
  expect((await buckets('show', 'nowhere')).code).toBe(3);
  expect((await buckets('set-policy', 'nowhere', '--allow-public')).code).toBe(3);
});

test('synonyms of a bucket are set from a file or stdin, shown as they were given, and cleared', async () => {
  const file = path.join(installation.dataDir, 'synonyms.txt');
  writeFileSync(file, '# clusters\nk8s, kubernetes, 쿠버네티스\n\nAI, artificial intelligence\n');
  const set = await buckets('synonyms', 'set', 'manuals', file);
  expect(set).toMatchObject({ code: 0, stderr: '' });
  expect((await buckets('synonyms', 'show', 'manuals')).stdout).toBe(
    'k8s, kubernetes, 쿠버네티스\nAI, artificial intelligence\n',
  );
  const piped = await runService(['buckets', 'synonyms', 'set', 'manuals', '-', '--json'], env, 'car, automobile\n');
  expect(piped.json()).toMatchObject({ groups: [['car', 'automobile']] });
  const asked = { code: 2, stderr: expect.stringContaining('(1 group). Remove them? Confirm with --yes.') };
  expect(await buckets('synonyms', 'clear', 'manuals')).toMatchObject(asked);
  expect((await buckets('synonyms', 'show', 'manuals', '--json')).json().groups).toHaveLength(1);
  expect(await buckets('synonyms', 'clear', 'manuals', '--yes')).toMatchObject({ code: 0 });
  expect((await buckets('synonyms', 'show', 'manuals', '--json')).json()).toMatchObject({ groups: [] });
  writeFileSync(file, 'alone\n');
  const alone = await buckets('synonyms', 'set', 'manuals', file);
  expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('at least two words') });
  expect((await buckets('synonyms', 'set', 'manuals', 'missing.txt')).code).toBe(3);
  expect((await buckets('synonyms', 'show', 'nowhere')).code).toBe(3);
});
