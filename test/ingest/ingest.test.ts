import { deflateRawSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { deleteDocument, getDocument } from '../../src/documents/documents.ts';
import { getVisibleJob } from '../../src/documents/job-documents.ts';
import { decodeArtifact, encodeArtifact } from '../../src/ingest/artifact.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { JobView } from '../../src/jobs/schema.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { makePdf } from '../support/sample-files.ts';
import { until } from '../support/until.ts';

let test: TestAppliance;
let worker: Service;

beforeAll(async () => {
  test = await openTestAppliance();
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

async function upload(fileName: string, bytes: string | Uint8Array, fields: Record<string, unknown> = {}) {
  const content = { bytes: Buffer.from(bytes as Uint8Array), fileName, contentType: null };
  return uploadDocument(test.appliance.ingest.uploads, test.operator, 'default', content, UploadRequest.parse(fields));
}

async function finished(jobId: string | null): Promise<JobView> {
  return until(async () => {
    const job = await getVisibleJob(test.appliance.sql, test.operator, jobId as string);
    return ['ready', 'failed', 'cancelled'].includes(job.status) && job;
  });
}

const search = (query: string, fields: Record<string, unknown> = {}) =>
  searchBucket(test.appliance.search, test.operator, 'default', SearchRequest.parse({ query, ...fields }));
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'fine',
    (error: { code?: string }) => error.code,
  );

describe('an uploaded document', () => {
  it('an uploaded Markdown document is found with its heading', async () => {
    const text =
      '# Orchard handbook\n\nGeneral remarks.\n\n## Pruning\n\nCut the quince before the sap rises in March.\n';
    const reply = await upload('orchard.md', text);
    expect(await finished(reply.job_id)).toMatchObject({ status: 'ready', file_type: 'md', retry_count: 0 });
    const [hit] = (await search('when should quince be pruned')).results;
    expect(hit?.citation.file_name).toBe('orchard.md');
    expect(hit?.text).toContain('quince');
    const stored = await getDocument(test.appliance.sql, test.operator, 'default', reply.id);
    expect(stored).toMatchObject({ status: 'ready', embed_model: 'local/lexical-1' });
    expect(stored.chunks_count).toBeGreaterThan(0);
  });

  it('an uploaded PDF is found on its page', async () => {
    const pdf = await makePdf([
      { heading: 'Introduction', paragraphs: ['This manual is about lighthouses in general.'] },
      { heading: 'Maintenance', paragraphs: ['Grease the rotation bearings of the Fresnel lens every fortnight.'] },
    ]);
    const reply = await upload('lighthouse.pdf', pdf);
    expect(await finished(reply.job_id)).toMatchObject({ status: 'ready', file_type: 'pdf' });
    const [hit] = (await search('grease the bearings of the lens')).results;
    expect(hit?.citation).toMatchObject({ file_name: 'lighthouse.pdf', locator: { page: 2 } });
    expect(hit?.citation.locator.heading_path).toContain('Maintenance');
  });

  it('an uploaded HTML page is found in Korean', async () => {
    const reply = await upload(
      'museum.html',
      '<!doctype html><html><body><h1>박물관 안내</h1><p>월요일에는 휴관합니다.</p><h2>도자기 전시실</h2><p>고려청자는 이층에서 볼 수 있습니다.</p></body></html>',
    );
    expect((await finished(reply.job_id)).status).toBe('ready');
    const [hit] = (await search('고려청자를 어디에서 볼 수 있나요?')).results;
    expect(hit?.citation.file_name).toBe('museum.html');
    expect(hit?.text).toContain('고려청자');
  });

  it('an uploaded document has an artifact with all data of the index', async () => {
    const reply = await upload('artifact.txt', 'Basalt columns cool slowly.\n');
    await finished(reply.job_id);
    const [row] = await test.appliance.sql`SELECT * FROM generations WHERE document_id = ${reply.id}`;
    const artifact = decodeArtifact(await test.appliance.objects.get(row?.['artifact_key'] as string));
    expect(artifact.chunks[0]?.text).toContain('Basalt');
    expect(artifact.vectors).toHaveLength(artifact.chunks.length * artifact.dimensions);
    const damaged = encodeArtifact(artifact);
    damaged[damaged.length - 1] = (damaged[damaged.length - 1] as number) ^ 1;
    expect(() => decodeArtifact(damaged)).toThrow(expect.objectContaining({ code: 'artifact_corrupt' }));
  });

  it('a deleted document is found by no search from the moment of its deletion', async () => {
    const reply = await upload('secret-plan.txt', 'The zeppelin departs from hangar seventeen.\n');
    await finished(reply.job_id);
    expect((await search('zeppelin hangar seventeen')).results[0]?.document_id).toBe(reply.id);
    await deleteDocument(test.appliance.sql, test.operator, 'default', reply.id);
    expect((await search('zeppelin hangar seventeen')).results.map((hit) => hit.document_id)).not.toContain(reply.id);
    await test.appliance.documents.purge(new AbortController().signal);
    expect(await test.appliance.objects.head(`documents/${test.operator.orgId}/${reply.id}/original`)).toBeNull();
    expect(await codeOf(getDocument(test.appliance.sql, test.operator, 'default', reply.id))).toBe(
      'document_not_found',
    );
  });
});

describe('an upload of the same bytes', () => {
  it('an upload of the same bytes is linked to the existing document by default', async () => {
    const first = await upload('a.txt', 'Twice told tale of a heron.\n');
    await finished(first.job_id);
    const second = await upload('b.txt', 'Twice told tale of a heron.\n');
    expect(second).toMatchObject({ id: first.id, duplicate_of: first.id, status: 'ready' });
  });

  it('an upload of the same bytes is refused or allowed on demand', async () => {
    const first = await upload('c.txt', 'Another heron altogether.\n');
    expect(await codeOf(upload('d.txt', 'Another heron altogether.\n', { on_duplicate: 'reject' }))).toBe(
      'duplicate_document',
    );
    const third = await upload('e.txt', 'Another heron altogether.\n', { on_duplicate: 'allow' });
    expect(third.id).not.toBe(first.id);
  });

  it('concurrent uploads of the same bytes make one document', async () => {
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, i) => upload(`race-${i}.txt`, 'A heron in a race.\n')),
    );
    expect(new Set(replies.map((reply) => reply.id)).size).toBe(1);
  });
});

describe('bad input', () => {
  const zip = Buffer.concat([
    Buffer.from('PK\u0003\u0004', 'latin1'),
    Buffer.alloc(26),
    deflateRawSync(Buffer.alloc(1_000_000)),
  ]);
  const hostile: [string, string | Buffer, string][] = [
    ['not-a.pdf', 'I only say that I am a PDF', 'corrupt'],
    ['bomb.pdf', zip, 'corrupt'],
    ['program.txt', Buffer.from('\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0', 'latin1'), 'unsupported_type'],
    ['nul.json', '{"a": 1 \u0000}', 'corrupt'],
    ['blank.txt', ' \n\n \n', 'unsupported_type'],
  ];
  it.each(hostile)('an upload of %s ends as a failed job with category and message', async (name, bytes, category) => {
    const reply = await upload(name, bytes);
    const job = await finished(reply.job_id);
    expect(job).toMatchObject({ status: 'failed', failed_phase: expect.any(String), retryable: false });
    expect(job.error_message).toEqual(expect.stringMatching(/\w+ \w+/));
    expect(job.error_category).toBe(category);
    expect((await getDocument(test.appliance.sql, test.operator, 'default', reply.id)).status).toBe('failed');
  });

  it.each([
    ['an empty file', 'empty.txt', '', 'empty_file'],
    ['a path as a name', '../../etc/passwd', 'x', 'invalid_request'],
    ['NUL in a name', 'a\0b.txt', 'x', 'invalid_request'],
    ['300 characters of name', `${'x'.repeat(296)}.txt`, 'x', 'invalid_request'],
  ])('an upload with %s is refused', async (_what, name, bytes, code) => {
    expect(await codeOf(upload(name, bytes))).toBe(code);
  });

  it('a refused upload leaves no stored bytes', async () => {
    const before = await test.appliance.sql`SELECT count(*)::int AS n FROM documents`;
    await codeOf(upload('empty.txt', ''));
    expect(await test.appliance.sql`SELECT count(*)::int AS n FROM documents`).toEqual(before);
    const known = new Set((await test.appliance.sql`SELECT object_key FROM documents`).map((row) => row['object_key']));
    for await (const object of test.appliance.objects.list('documents/')) {
      if (object.key.endsWith('/original')) expect(known).toContain(object.key);
    }
  });
});
