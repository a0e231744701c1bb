import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IngestOptions } from '../../src/documents/schema.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { makeUserToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';

let test: TestApi;
let key: string;

beforeAll(async () => {
  test = await openTestApi({ settings: { limits: { upload_bytes: 1_000_000 } } });
  key = await test.key({ authLevel: 5 });
});
afterAll(() => test.close());

const DOCUMENTS = '/v1/buckets/default/documents';

function multipart(fileName: string, bytes: string | Uint8Array<ArrayBuffer>, fields: Record<string, string> = {}) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  form.append('file', new Blob([bytes]), fileName);
  return form;
}

/** Bytes of no known format. */
const noise = new Uint8Array([0, 1, 2, 3, 255, 254, 0, 9]);

const upload = (json: unknown, headers: Record<string, string> = {}) =>
  test.call('POST', DOCUMENTS, { key, json, headers });

async function ready(jobId: string) {
  return until(async () => {
    const { body } = await test.call('GET', `/v1/jobs/${jobId}`, { key });
    return body.status === 'ready' && body;
  });
}

it('a document that could not be read has the reason and its category, in each list and by itself', async () => {
  const { body: taken } = await test.call('POST', DOCUMENTS, { key, body: multipart('x.bin', noise) });
  const document = await until(async () => {
    const { body } = await test.call('GET', `/v1/documents/${taken.id}`, { key });
    return body.status === 'failed' && body;
  });
  const failure = { error_category: 'unsupported_type', error_message: expect.stringMatching(/./) };
  expect(document).toMatchObject(failure);
  for (const path of [`${DOCUMENTS}?status=failed`, '/v1/documents?name=x.bin', `/v1/documents?ids=${taken.id}`]) {
    const { body } = await test.call('GET', path, { key });
    expect([path, body.data]).toEqual([path, [expect.objectContaining(failure)]]);
  }
  await test.call('DELETE', `${DOCUMENTS}/${taken.id}`, { key });
});

describe('upload, search, delete over HTTP', () => {
  it('a multipart upload gets a 202 and a job, and its document is found, read and deleted', async () => {
    const fields = {
      metadata: '{"team":"harbour","year":2024}',
      privacy_level: '2',
      chunk_size: '128',
      source_path: 'a/b/c.md',
    };
    const body = multipart('Fähre 시간표.md', '# Ferries\n\nThe ferry to Jeju leaves at seven.\n', fields);
    const taken = await test.call('POST', DOCUMENTS, { key, body });
    expect(taken.status).toBe(202);
    expect(taken.body).toMatchObject({ status: 'queued', collection_id: null, warnings: [] });
    const job = await ready(taken.body.job_id);
    expect(job).toMatchObject({
      document_id: taken.body.id,
      priority: 2,
      file_name: 'Fähre 시간표.md',
      file_type: 'md',
      processing_type: 'document_upload',
      metadata_snapshot: { file_name: 'Fähre 시간표.md', source_path: 'a/b/c.md', captured_at: expect.any(String) },
    });
    const document = await test.call('GET', `${DOCUMENTS}/${taken.body.id}`, { key });
    expect(document.body).toMatchObject({
      status: 'ready',
      metadata: { team: 'harbour', year: '2024' },
      privacy_level: 2,
      classification: 'internal',
      review_status: 'pending',
      internal_accessible: true,
      public_accessible: false,
    });
    const found = await test.call('POST', '/v2/buckets/default/search', {
      key: await test.key({ scopes: ['search'] }),
      json: { query: 'when does the ferry leave for Jeju' },
    });
    expect(found.status).toBe(200);
    expect(found.body.results[0]).toMatchObject({
      document_id: taken.body.id,
      citation: { file_name: 'Fähre 시간표.md', source_path: 'a/b/c.md', locator: { heading_path: ['Ferries'] } },
    });
    const gone = await test.call('DELETE', `${DOCUMENTS}/${taken.body.id}`, { key });
    expect(gone.body).toEqual({ id: taken.body.id, deleted: true });
    const after = await test.call('POST', '/v2/buckets/default/search', { key, json: { query: 'ferry Jeju' } });
    expect(after.body.results).toEqual([]);
    expect((await test.call('GET', `${DOCUMENTS}/${taken.body.id}`, { key })).status).toBe(404);
    expect((await test.call('DELETE', `${DOCUMENTS}/${taken.body.id}`, { key })).status).toBe(404);
  });

  it.each([
    ['text', { text: 'Plain words here.' }],
    ['content', { content: 'Other plain words.' }],
    ['content_base64', { content_base64: Buffer.from('Encoded words.').toString('base64') }],
  ])('a JSON upload with %s is accepted', async (_kind, content) => {
    const { status, body } = await upload({ filename: 'note.txt', ...content });
    expect(status).toBe(202);
    await ready(body.job_id);
  });

  it.each(['json', 'multipart'])(
    'names and paths in an upload (%s) lose their marks of text direction',
    async (form) => {
      const [name, source_path] = ['\u202etxt.\u200eexe', 'in\u2066box/\u202etxt.exe'];
      const taken =
        form === 'json'
          ? await upload({ filename: name, source_path, text: 'Marked words.', on_duplicate: 'allow' })
          : await test.call('POST', DOCUMENTS, { key, body: multipart(name, 'Marked.', { source_path }) });
      expect(taken.status).toBe(202);
      expect(await ready(taken.body.job_id)).toMatchObject({
        file_name: '_txt._exe',
        metadata_snapshot: { file_name: '_txt._exe', source_path: 'in box/ txt.exe' },
      });
    },
  );

  it('a repeated Idempotency-Key with the same body gets the same document, and with another body is refused', async () => {
    const headers = { 'Idempotency-Key': 'once' };
    const json = { filename: 'once.txt', text: 'Only once.', on_duplicate: 'allow' };
    const first = await upload(json, headers);
    const second = await upload(json, headers);
    expect(second.status).toBe(202);
    expect(second.body).toEqual(first.body);
    expect((await upload({ ...json, text: 'Other.' }, headers)).status).toBe(422);
  });

  it('documents are listed page by page, newest first', async () => {
    for (let i = 0; i < 3; i++) await upload({ filename: `page-${i}.txt`, text: `Page ${i}` });
    const first = await test.call('GET', `${DOCUMENTS}?limit=2`, { key });
    expect(first.body).toMatchObject({ object: 'list', has_more: true, next_cursor: expect.any(String) });
    const second = await test.call('GET', `${DOCUMENTS}?limit=2&cursor=${first.body.next_cursor}`, { key });
    const names = [...first.body.data, ...second.body.data].map((document) => document.file_name);
    expect(names.slice(0, 3)).toEqual(['page-2.txt', 'page-1.txt', 'page-0.txt']);
    expect(new Set(names).size).toBe(4);
  });

  it('the privacy level of an upload is clamped to what the uploader may see, with a warning', async () => {
    const { body } = await upload({ filename: 'secret.txt', text: 'Very secret.', privacy_level: 9 });
    expect(body.warnings.join()).toContain('lowered from 9 to 5');
    expect((await test.call('GET', `${DOCUMENTS}/${body.id}`, { key })).body.privacy_level).toBe(5);
    const low = await test.key({ authLevel: 4 });
    expect((await test.call('GET', `${DOCUMENTS}/${body.id}`, { key: low })).status).toBe(404);
    // Neither its job nor the answer to an upload of the same bytes shows the document.
    expect((await test.call('GET', `/v1/jobs/${body.job_id}`, { key: low })).status).toBe(404);
    const jobs = (await test.call('GET', '/v1/jobs', { key: low })).body;
    expect(jobs.map((job: { id: string }) => job.id)).not.toContain(body.job_id);
    const guess = await test.call('POST', DOCUMENTS, {
      key: low,
      json: { filename: 'guess.txt', text: 'Very secret.' },
    });
    expect([guess.body.duplicate_of, guess.body.id === body.id]).toEqual([undefined, false]);
  });

  it('jobs of another department are hidden, and jobs of a deleted document lose its name and metadata', async () => {
    const admin = await test.key({ scopes: ['documents:write', 'platform_admin'], authLevel: 5 });
    const json = { filename: 'salaries.txt', text: 'Numbers.', metadata: { scope: 'hr', why: 'cut' } };
    const { body } = await test.call('POST', DOCUMENTS, { key: admin, json });
    expect((await test.call('GET', `/v1/jobs/${body.job_id}`, { key })).status).toBe(404);
    expect((await test.call('GET', `/v1/jobs/${body.job_id}`, { key: admin })).body.file_name).toBe('salaries.txt');
    await test.call('DELETE', `${DOCUMENTS}/${body.id}`, { key: admin });
    const job = await until(async () => {
      const answer = await test.call('GET', `/v1/jobs/${body.job_id}`, { key: admin });
      return answer.body.metadata_snapshot === null && answer.body;
    });
    expect(job.file_name).toBe('deleted');
  });

  it('an answer is not replayed to another caller', async () => {
    const headers = { 'Idempotency-Key': 'shared' };
    const json = { filename: 'mine.txt', text: 'Mine alone.', on_duplicate: 'allow' };
    const mine = await upload(json, headers);
    const other = await test.call('POST', DOCUMENTS, { key: await test.key(), json, headers });
    expect(other.status).toBe(202);
    expect(other.body.id).not.toBe(mine.body.id);
  });

  it.each([
    [64, 32],
    [119, 59],
    [120, 60],
    [4000, 60],
  ])('an upload with a chunk size of %i tokens and no overlap gets one of %i', async (chunk_size, overlap) => {
    const { status, body } = await upload({ filename: 'a.txt', text: `Chunks of ${chunk_size}.`, chunk_size });
    expect(status).toBe(202);
    const [row] = await test.appliance.sql`SELECT ingest_options FROM documents WHERE id = ${body.id}`;
    expect(row?.['ingest_options']).toEqual({ ocr_strategy: 'auto', chunk_size, chunk_overlap: overlap });
    expect(IngestOptions.parse({ chunk_size }).chunk_overlap).toBe(overlap);
  });

  it.each([
    ['no content', { filename: 'a.txt' }],
    ['two contents', { filename: 'a.txt', text: 'a', content: 'b' }],
    ['no name', { text: 'a' }],
    ['a path as name', { filename: '../../etc/passwd', text: 'a' }],
    ['NUL in its name', { filename: 'a\u0000.txt', text: 'a' }],
    ['a long name', { filename: `${'n'.repeat(300)}.txt`, text: 'a' }],
    ['an empty file', { filename: 'a.txt', text: '' }],
    ['a name of dots', { filename: '..', text: 'a' }],
    ['bad base64', { filename: 'a.txt', content_base64: '***' }],
    ['a chunk size that is too small', { filename: 'a.txt', text: 'a', chunk_size: 10 }],
    ['an overlap that is too large', { filename: 'a.txt', text: 'a', chunk_size: 100, chunk_overlap: 51 }],
    ['a reserved key', { filename: 'a.txt', text: 'a', metadata: { document_id: 'x' } }],
    ['a system key', { filename: 'a.txt', text: 'a', metadata: { 'schift.x': 'x' } }],
    ['a server-written key', { filename: 'a.txt', text: 'a', metadata: { internal_accessible: 'true' } }],
    [
      '33 keys',
      {
        filename: 'a.txt',
        text: 'a',
        metadata: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`k${i}`, i])),
      },
    ],
    ['a nested value', { filename: 'a.txt', text: 'a', metadata: { a: { b: 1 } } }],
    ['a long value', { filename: 'a.txt', text: 'a', metadata: { a: 'x'.repeat(513) } }],
    ['a control character', { filename: 'a.txt', text: 'a', metadata: { a: 'x\u0007' } }],
    ['a privacy level that is no number', { filename: 'a.txt', text: 'a', privacy_level: true }],
    ['a bad privacy level', { filename: 'a.txt', text: 'a', privacy_level: 11 }],
  ])('an upload with %s is refused with 400', async (_label, json) => {
    const { status, body } = await upload(json);
    expect(status).toBe(400);
    expect(body.detail).toMatch(/\S+ \S+/);
  });

  it('an upload that is too large, of another content type or to an unknown bucket is refused', async () => {
    const large = multipart('large.txt', 'x'.repeat(1_000_001));
    expect((await test.call('POST', DOCUMENTS, { key, body: large })).status).toBe(413);
    const text = await test.call('POST', DOCUMENTS, { key, body: 'hi', headers: { 'Content-Type': 'text/plain' } });
    expect(text.status).toBe(415);
    expect(
      (await test.call('POST', '/v1/buckets/none/documents', { key, json: { filename: 'a', text: 'a' } })).status,
    ).toBe(404);
    expect((await upload({ filename: 'a.txt', text: 'a', collection_id: 'none' })).status).toBe(404);
    expect(
      (await test.call('POST', DOCUMENTS, { key, body: multipart('bad.txt', 'x', { metadata: '{' }) })).status,
    ).toBe(400);
  });
});

describe('buckets, collections, jobs', () => {
  it('a bucket is created once, found by name and id, and deleted with its name as confirmation', async () => {
    const admin = await test.key({ scopes: ['buckets:manage', 'documents:write', 'search'], authLevel: 5 });
    const made = await test.call('POST', '/v1/buckets', { key: admin, json: { name: 'shelf' } });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({
      name: 'shelf',
      policy: { max_privacy_level: 10, public_max_privacy_level: 1, allow_public: true },
    });
    expect((await test.call('POST', '/v1/buckets', { key: admin, json: { name: 'shelf' } })).status).toBe(409);
    expect((await test.call('GET', `/v1/buckets/${made.body.id}`, { key })).body.name).toBe('shelf');
    const names = (await test.call('GET', '/v1/buckets', { key })).body.data.map(
      (bucket: { name: string }) => bucket.name,
    );
    expect(names).toEqual(['default', 'shelf']);
    const collection = await test.call('POST', '/v1/buckets/shelf/collections', { key, json: { name: 'novels' } });
    expect(collection.status).toBe(201);
    const book = await test.call('POST', '/v1/buckets/shelf/documents', {
      key,
      json: { filename: 'n.txt', text: 'A novel.', collection_id: 'novels' },
    });
    expect(book.body.collection_id).toBe(collection.body.id);
    await ready(book.body.job_id);
    const session = await makeUserToken(test.appliance, { role: 'admin' });
    expect((await test.call('DELETE', '/v1/buckets/shelf', { key: session })).status).toBe(400);
    for (const other of [key, admin]) {
      expect((await test.call('DELETE', '/v1/buckets/shelf?confirm=shelf', { key: other })).status).toBe(403);
    }
    expect((await test.call('DELETE', '/v1/buckets/shelf?confirm=shelf', { key: session })).status).toBe(200);
    expect((await test.call('GET', '/v1/buckets/shelf', { key })).status).toBe(404);
    expect((await test.call('POST', '/v1/buckets', { key: admin, json: { name: 'shelf' } })).status).toBe(201);
    await until(
      async () => (await test.appliance.sql`SELECT 1 FROM buckets WHERE deleting_at IS NOT NULL`).length === 0,
    );
    const left = [];
    for await (const object of test.appliance.objects.list('documents/'))
      if (object.key.includes(book.body.id)) left.push(object);
    expect(left).toEqual([]);
  });

  it.each(['', 'a b', 'bkt_x', '../x', 'x'.repeat(64)])('a bucket named %j is refused', async (name) => {
    const admin = await test.key({ scopes: ['buckets:manage'] });
    expect((await test.call('POST', '/v1/buckets', { key: admin, json: { name } })).status).toBe(400);
  });

  it('jobs are listed newest first with filters, and bad filters are refused', async () => {
    const { body } = await test.call('GET', '/v1/jobs?limit=3', { key });
    expect(body).toHaveLength(3);
    expect(body.map((job: { created_at: string }) => job.created_at)).toEqual(
      body
        .map((job: { created_at: string }) => job.created_at)
        .toSorted()
        .toReversed(),
    );
    const bucket = body[0].bucket_id;
    const ready = await test.call('GET', `/v1/jobs?status=ready&bucket_id=${bucket}`, { key });
    expect(
      ready.body.every(
        (job: { status: string; bucket_id: string }) => job.status === 'ready' && job.bucket_id === bucket,
      ),
    ).toBe(true);
    for (const query of ['limit=0', 'limit=201', 'limit=x', 'status=sleeping']) {
      expect((await test.call('GET', `/v1/jobs?${query}`, { key })).status).toBe(400);
    }
    expect((await test.call('GET', '/v1/jobs/job_none', { key })).status).toBe(404);
  });

  it.each([
    [{}, 'query'],
    [{ query: '' }, 'query'],
    [{ query: 'x'.repeat(8001) }, 'query'],
    [{ query: 'x', top_k: 0 }, 'top_k'],
    [{ query: 'x', top_k: 101 }, 'top_k'],
    [{ query: 'x', mode: 'psychic' }, 'mode'],
    [{ query: 'x', task: 'guess' }, 'task'],
    [{ query: 'x', filter: { type: 'like', key: 'a', value: 'b' } }, 'filter'],
    [{ query: 'x', filter: { a: '\u0000' } }, 'U+0000'],
    [{ query: 'x', collection: '\u0000' }, 'U+0000'],
    [{ query: 'x', score_threshold: 2 }, 'score_threshold'],
  ])('a search for %j is refused', async (json, word) => {
    const { status, body } = await test.call('POST', '/v2/buckets/default/search', { key, json });
    expect(status).toBe(400);
    expect(body.detail).toContain(word);
  });
});
