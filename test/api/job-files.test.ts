import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { DOCUMENTS, jobsUnderTest } from './jobs-under-test.ts';

const fixture = jobsUnderTest();

it.each([
  ['report.txt', 'attachment; filename="report.txt"'],
  [
    'Fähre 시간표.txt',
    `attachment; filename="F_hre ___.txt"; filename*=UTF-8''F%C3%A4hre%20%EC%8B%9C%EA%B0%84%ED%91%9C.txt`,
  ],
  [
    `a "b" 'c' (d)*;x=y.txt`,
    `attachment; filename="a _b_ 'c' (d)*;x=y.txt"; filename*=UTF-8''a%20%22b%22%20%27c%27%20%28d%29%2A%3Bx%3Dy.txt`,
  ],
  ['100%41.txt', `attachment; filename="100%41.txt"; filename*=UTF-8''100%2541.txt`],
  ['😀.txt', `attachment; filename="_.txt"; filename*=UTF-8''%F0%9F%98%80.txt`],
])('the file %s is downloaded unchanged under its own name', async (filename, disposition) => {
  const text = `The file ${filename}.\n`;
  const { id, job_id } = await fixture.upload({ filename, text });
  const before = await fetch(`${fixture.test.api.url}/v1/jobs/${job_id}/download`, {
    headers: { Authorization: `Bearer ${fixture.key}` },
  });
  expect(before.headers.get('content-type')).toBe('application/octet-stream');
  await before.arrayBuffer();
  await fixture.withWorker(async () => void (await fixture.awaitEnd(job_id)));
  const reply = await fetch(`${fixture.test.api.url}/v1/jobs/${job_id}/download`, {
    headers: { Authorization: `Bearer ${fixture.key}` },
  });
  expect(reply.status).toBe(200);
  expect(reply.headers.get('content-disposition')).toBe(disposition);
  expect(reply.headers.get('content-type')).toBe('text/plain');
  expect(reply.headers.get('x-content-type-options')).toBe('nosniff');
  expect(Number(reply.headers.get('content-length'))).toBe(Buffer.byteLength(text));
  expect(Buffer.from(await reply.arrayBuffer()).toString()).toBe(text);
  const { body: document } = await fixture.call('GET', `${DOCUMENTS}/${id}`);
  expect((await fixture.call('GET', `/v1/jobs/${job_id}/files`)).body).toEqual({
    object: 'list',
    data: [
      {
        id,
        object: 'vector_store.file',
        vector_store_id: document.bucket_id,
        status: 'ready',
        filename,
        created_at: document.created_at,
      },
    ],
    has_more: false,
  });
});

it('a large file is downloaded whole, byte by byte equal to the upload', async () => {
  const bytes = Buffer.alloc(3_000_000, 'All work and no play. ');
  const content_base64 = bytes.toString('base64');
  const { job_id } = await fixture.upload({ filename: 'large.txt', text: undefined, content_base64 });
  const reply = await fetch(`${fixture.test.api.url}/v1/jobs/${job_id}/download`, {
    headers: { Authorization: `Bearer ${fixture.key}` },
  });
  const hash = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');
  expect(hash(new Uint8Array(await reply.arrayBuffer()))).toBe(hash(bytes));
  await fixture.call('DELETE', `/v1/jobs/${job_id}`);
});

it('a download of a file above the auth level, deleted or missing in the storage is a 404', async () => {
  const { job_id } = await fixture.upload({ privacy_level: 5 });
  const low = await fixture.test.key({ authLevel: 4 });
  for (const suffix of ['', '/files', '/download']) {
    expect((await fixture.call('GET', `/v1/jobs/${job_id}${suffix}`, { key: low })).status).toBe(404);
  }
  expect((await fixture.call('GET', `/v1/jobs/${job_id}/download`)).status).toBe(200);

  const lost = await fixture.upload();
  await fixture.test.appliance.objects.delete((await fixture.call('GET', `/v1/jobs/${lost.job_id}`)).body.s3_key);
  const missing = await fixture.call('GET', `/v1/jobs/${lost.job_id}/download`);
  expect([missing.status, missing.body]).toEqual([404, { detail: expect.stringContaining('missing') }]);

  const gone = await fixture.upload();
  await fixture.call('DELETE', `${DOCUMENTS}/${gone.id}`);
  expect((await fixture.call('GET', `/v1/jobs/${gone.job_id}/download`)).status).toBe(404);
  expect((await fixture.call('GET', `/v1/jobs/${gone.job_id}/files`)).body.data).toEqual([]);
});
