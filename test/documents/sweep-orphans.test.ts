import { afterAll, beforeAll, expect, it } from 'vitest';
import { sweepOrphans } from '../../src/documents/sweep-orphans.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { idTimeMs, newId } from '../../src/platform/ids.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';

const HOUR_MS = 3_600_000;
let test: TestAppliance;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());

it('the sweep removes old files without a document, and nothing else', async () => {
  const { objects, sql } = test.appliance;
  const { uploads } = test.appliance.ingest;
  const content = { bytes: Buffer.from('kept'), fileName: 'kept.txt', contentType: null };
  const kept = await uploadDocument(uploads, test.operator, 'default', content, UploadRequest.parse({}));
  const old = newId('doc', Date.now() - 2 * HOUR_MS);
  const young = newId('doc');
  for (const id of [old, young]) await objects.put(`documents/${test.operator.orgId}/${id}/original`, Buffer.from('x'));
  expect(await sweepOrphans(sql, objects, HOUR_MS, new AbortController().signal)).toBe(1);
  const left = [];
  for await (const { key } of objects.list('documents/')) left.push(key.split('/')[2]);
  expect(left.toSorted()).toEqual([kept.id, young].toSorted());
});

it('the creation time can be read from an id', () => {
  const now = Date.now();
  expect(idTimeMs(newId('doc', now))).toBe(now);
  expect(idTimeMs('not-an-id')).toBeNull();
});
