import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { deleteDocument } from '../../src/documents/documents.ts';
import { getVisibleJob } from '../../src/documents/job-documents.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { JobView } from '../../src/jobs/schema.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { calibrate } from '../support/calibrate.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const ALPHA = 'vendor-a/alpha';
const BETA = 'vendor-e/beta';
const GAMMA = 'vendor-a/gamma';
/** Texts that ingest embeds in one call. */
const EMBED_BATCH_TEXTS = 64;
const customModel = (id: string, dimensions: number) => ({
  id,
  vendor: id.split('/')[0],
  dimensions,
  max_tokens: 8192,
});

let test: TestGateway;
let worker: Service;
let key: string;

beforeAll(async () => {
  test = await openTestGateway(
    {
      models: [customModel(ALPHA, 160), customModel(BETA, 96), customModel(GAMMA, 128)],
      alias: { 'service-embed-1-small': { default: ALPHA, ko: BETA } },
      workers: { retries_max: 0 },
    },
    { semantic: true, dimensions: { alpha: 160, beta: 96, gamma: 128 } },
  );
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  key = await test.key({ scopes: ['embed', 'search', 'routing:manage', 'buckets:manage', 'documents:write'] });
  expect((await calibrate(test.appliance, ALPHA, { reference: true })).grade).toBe('good');
  expect((await calibrate(test.appliance, BETA)).grade).toBe('good');
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

const route = async (primary: string) => {
  expect((await test.call('PUT', '/v1/routing', { key, json: { primary } })).status).toBe(200);
};

async function newBucket(name: string): Promise<void> {
  await createBucket(test.appliance.sql, test.operator, { name, policy: BucketPolicy.parse({}) });
}

/** @returns the job of each document, finished */
async function ingest(bucket: string, texts: Readonly<Record<string, string>>): Promise<JobView[]> {
  const { sql } = test.appliance;
  const { uploads } = test.appliance.ingest;
  const replies = await Promise.all(
    Object.entries(texts).map(([name, text]) => {
      const content = { bytes: Buffer.from(text), fileName: `${name}.txt`, contentType: null };
      return uploadDocument(uploads, test.operator, bucket, content, UploadRequest.parse({}));
    }),
  );
  return Promise.all(
    replies.map((reply) =>
      until(async () => {
        const job = await getVisibleJob(sql, test.operator, reply.job_id as string);
        return ['ready', 'failed', 'cancelled'].includes(job.status) && job;
      }),
    ),
  );
}

async function search(bucket: string, query: string, mode = 'vector') {
  const { status, body } = await test.call('POST', `/v2/buckets/${bucket}/search`, { key, json: { query, mode } });
  expect(status).toBe(200);
  const names = body.results.map((hit: { citation: { file_name: string } }) => hit.citation.file_name.slice(0, -4));
  return { ...body, names: names as string[] };
}

/** Make a model of the same space the one that queries and uploads of a bucket use, as if the other were lost. */
async function setModel(bucket: string, model: string): Promise<void> {
  await test.appliance.sql`
    UPDATE index_tables SET model = ${model} FROM buckets WHERE buckets.id = bucket_id AND name = ${bucket}`;
  // A search begins with the model that its process saw last.
  await search(bucket, 'tide');
}

const BY_ALPHA = {
  harbour: 'ferry tide pilot anchor cargo storm',
  ledger: 'audit refund invoice margin tax receipt',
  kitchen: 'kettle flour oven butter onion broth',
};
const BY_BETA = {
  clinic: 'patient dose nurse fever vaccine ward',
  compiler: 'thread socket buffer cache query schema',
  항구: '항구 밀물 닻 화물 섬 폭풍',
};
/** Take some words of each document in another order, so that only their meaning finds the document. */
const queriesOf = (texts: Readonly<Record<string, string>>) =>
  Object.entries(texts).map(([name, text]) => [name, text.split(' ').slice(1, 4).reverse().join(' ')] as const);

describe('two calibrated models', () => {
  beforeAll(async () => {
    await newBucket('manuals');
    await route(ALPHA);
    const jobs = await ingest('manuals', BY_ALPHA);
    expect(jobs.map((job) => job.status)).toEqual(['ready', 'ready', 'ready']);
  });

  it('a bucket is searched with another calibrated model, and nothing is embedded again', async () => {
    await setModel('manuals', BETA);
    const before = test.upstream.calls.length;
    for (const [name, query] of queriesOf(BY_ALPHA)) {
      const found = await search('manuals', query);
      expect(found).toMatchObject({ model: BETA, warnings: [] });
      expect(found.names[0]).toBe(name);
    }
    const sent = test.upstream.calls.slice(before);
    expect(sent.map((call) => [call.model, call.texts.length])).toEqual(Array(3).fill(['beta', 1]));
  });

  it('two calibrated models share a bucket: each finds the documents of both', async () => {
    await setModel('manuals', BETA);
    await ingest('manuals', BY_BETA);
    const rows = await test.appliance.sql`SELECT DISTINCT embed_model, space FROM generations ORDER BY 1`;
    expect(rows.map((row) => [row['embed_model'], row['space']])).toEqual([
      [ALPHA, 'canon-v1'],
      [BETA, 'canon-v1'],
    ]);
    for (const model of [ALPHA, BETA]) {
      await setModel('manuals', model);
      for (const [name, query] of queriesOf({ ...BY_ALPHA, ...BY_BETA })) {
        const found = await search('manuals', query);
        expect(found.model).toBe(model);
        expect(found.names[0]).toBe(name);
      }
    }
  });

  it('an alias embeds a document in two languages with one backend, chosen by the language of most of its first texts', async () => {
    await newBucket('bilingual');
    await route('service-embed-1-small');
    const english = Array.from({ length: 400 }, (_, n) => `The ferry pilot reads the tide number ${n} in the storm.`);
    const korean = Array.from({ length: 300 }, (_, n) => `항구의 배는 폭풍이 오면 닻을 내린다 ${n}.`);
    const before = test.upstream.calls.length;
    const { sql } = test.appliance;
    const { uploads } = test.appliance.ingest;
    const content = {
      bytes: Buffer.from([...english, ...korean].join('\n\n')),
      fileName: 'both.txt',
      contentType: null,
    };
    const fields = UploadRequest.parse({ chunk_size: 64, chunk_overlap: 0 });
    const { id } = await uploadDocument(uploads, test.operator, 'bilingual', content, fields);
    const row = await until(
      async () => (await sql`SELECT embed_model, chunks_count FROM documents WHERE id = ${id} AND status = 'ready'`)[0],
    );
    expect(row['embed_model']).toBe(ALPHA);
    expect(row['chunks_count']).toBeGreaterThan(EMBED_BATCH_TEXTS);
    expect(new Set(test.upstream.calls.slice(before).map((call) => call.model))).toEqual(new Set(['alpha']));
    expect((await search('bilingual', '항구 폭풍 닻')).names).toContain('both');
  });
});

describe('an uncalibrated model', () => {
  beforeEach(() => route(GAMMA));

  it('an uncalibrated model in the routing changes neither searches of a calibrated bucket nor its uploads', async () => {
    const found = await search('manuals', 'tide pilot anchor', 'hybrid');
    expect(found.names[0]).toBe('harbour');
    expect(found.warnings).toEqual([]);
    const [job] = await ingest('manuals', { stranger: 'rope sail island' });
    expect(job).toMatchObject({ status: 'ready' });
    expect((await search('manuals', 'rope sail island')).names[0]).toBe('stranger');
  });

  it('a bucket of an uncalibrated model keeps it when the routing changes to a calibrated one', async () => {
    await newBucket('native');
    expect((await ingest('native', { one: 'rope sail island' })).map((job) => job.status)).toEqual(['ready']);
    await route(ALPHA);
    const [job] = await ingest('native', { two: 'budget loan credit' });
    expect(job).toMatchObject({ status: 'ready' });
    expect(await search('native', 'island sail')).toMatchObject({ model: GAMMA, warnings: [] });
    expect((await search('native', 'loan credit')).names[0]).toBe('two');
  });

  it('a bucket whose model is lost is searched by keyword only, with a warning that says what to do', async () => {
    await newBucket('lost');
    await ingest('lost', { one: 'rope sail island' });
    await test.appliance.sql`
      UPDATE index_tables SET model = 'vendor-a/lost', space = 'native:vendor-a/lost@1' FROM buckets
      WHERE buckets.id = bucket_id AND name = 'lost'`;
    const found = await search('lost', 'island sail', 'hybrid');
    expect(found.names).toEqual(['one']);
    expect(found.warnings.join()).toContain('service index reembed');
    expect(found.results.every((hit: { scores: { vector_score: unknown } }) => hit.scores.vector_score === null)).toBe(
      true,
    );
  });
});

it('a bucket whose documents are all deleted takes vectors of another space', async () => {
  await newBucket('emptied');
  await route(GAMMA);
  const [old] = await ingest('emptied', { old: 'rope sail island' });
  await deleteDocument(test.appliance.sql, test.operator, 'emptied', old?.document_id as string);
  await route(ALPHA);
  expect((await ingest('emptied', { fresh: 'budget loan credit' })).map((job) => job.status)).toEqual(['ready']);
  await route(BETA);
  expect((await search('emptied', 'credit loan')).names).toEqual(['fresh']);
});
