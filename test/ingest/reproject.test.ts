import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { deleteDocument } from '../../src/documents/documents.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { embedForIndex } from '../../src/embedding/embedder.ts';
import { decodeArtifact, encodeArtifact } from '../../src/ingest/artifact.ts';
import { readArtifact } from '../../src/ingest/artifact-store.ts';
import { type ReprojectContext, reprojectBucket } from '../../src/ingest/reproject-bucket.ts';
import { planReprojection } from '../../src/ingest/reproject-plan.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import { getIndexTable, holdIndexSpace } from '../../src/search/index-store.ts';
import { sweepTables } from '../../src/search/replace-table.ts';
import { findReprojection } from '../../src/search/reprojection-store.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { sweepGenerations } from '../../src/search/sweep.ts';
import { calibrate } from '../support/calibrate.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { syntheticTexts } from '../support/synthetic-models.ts';
import { until } from '../support/until.ts';

const ALPHA = 'vendor-a/alpha';
const BETA = 'vendor-e/beta';
/** One model for each test that begins with an uncalibrated one. */
const native = (nth: number) => `vendor-a/native-${nth}`;
const NATIVES = 8;
const own = (id: string, dimensions: number) => ({ id, vendor: id.split('/')[0], dimensions, max_tokens: 8192 });

let test: TestGateway;
let worker: Service;
let context: ReprojectContext;
let bucket: { id: string; name: string };
let serial = 0;
const signal = new AbortController().signal;

beforeAll(async () => {
  const natives = Array.from({ length: NATIVES }, (_, nth) => native(nth));
  test = await openTestGateway(
    { models: [own(ALPHA, 160), own(BETA, 96), ...natives.map((id) => own(id, 128))] },
    {
      semantic: true,
      dimensions: { alpha: 160, beta: 96, ...Object.fromEntries(natives.map((id) => [id.split('/')[1], 128])) },
    },
  );
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(signal);
  context = test.appliance.ingest.reprojection;
  await calibrate(test.appliance, ALPHA, { reference: true });
  await calibrate(test.appliance, BETA);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});
beforeEach(async () => {
  bucket = await createBucket(test.appliance.sql, test.operator, {
    name: `bucket-${++serial}`,
    policy: BucketPolicy.parse({}),
  });
});
afterEach(() => expect(test.upstream.violations).toEqual([]));

const route = (primary: string) =>
  test.appliance.embedding.routing.set(test.operator, { primary, fallback: null, mode: 'single' });

/** Ingest texts by `model`; the document of text n has the file name `<prefix>n.txt`. */
async function ingest(
  model: string,
  texts: readonly string[],
  prefix = 'd',
  options: Record<string, number> = {},
): Promise<void> {
  await route(model);
  const { sql } = test.appliance;
  const before = (await sql`SELECT 1 FROM documents WHERE bucket_id = ${bucket.id}`).length;
  const uploads = texts.map((text, n) => {
    const content = { bytes: Buffer.from(text), fileName: `${prefix}${n}.txt`, contentType: null };
    const request = UploadRequest.parse({ on_duplicate: 'allow', ...options });
    return uploadDocument(test.appliance.ingest.uploads, test.operator, bucket.name, content, request);
  });
  await Promise.all(uploads);
  const areReady = async () => {
    const rows = await sql`SELECT 1 FROM documents WHERE bucket_id = ${bucket.id} AND status = 'ready'`;
    return rows.length === before + texts.length;
  };
  await until(areReady, { withinMs: 50_000, what: 'ingest' });
}

const reproject = (
  models: string[],
  options: { signal?: AbortSignal; onProgress?: () => void; context?: ReprojectContext } = {},
) =>
  reprojectBucket(
    options.context ?? context,
    test.operator,
    { bucket: bucket.name, models },
    { signal: options.signal ?? signal, ...(options.onProgress ? { onProgress: options.onProgress } : {}) },
  );

async function search(query: string, mode = 'vector') {
  const request = SearchRequest.parse({ query, mode, top_k: 100 });
  const reply = await searchBucket(test.appliance.search, test.operator, bucket.name, request);
  return { ...reply, names: reply.results.map((hit) => hit.citation.file_name) };
}

async function sweep(): Promise<void> {
  const { sql, objects } = test.appliance;
  await sweepTables(context, signal);
  await sweepGenerations(sql, objects, context.index, signal);
}

/** What the present table holds: rows by generation, and what PostgreSQL says that it should. */
async function contents() {
  const { sql } = test.appliance;
  const own = await getIndexTable(sql, bucket.id);
  const table = await context.tables.read(own?.name as string, own?.version as number);
  const rows = (await table?.query().select(['chunk_id', 'generation', 'vector']).toArray()) ?? [];
  const live = await sql`
    SELECT d.id, d.active_generation, g.artifact_key, g.chunks_count, g.map_version, g.space, g.embed_model
    FROM documents d JOIN generations g ON g.id = d.active_generation
    WHERE d.bucket_id = ${bucket.id} ORDER BY d.id`;
  return { rows, live, space: own?.space, name: own?.name };
}

/** Every row is of a live generation, every live chunk has one row, and every artifact beside a document is its live one. */
async function expectExact(): Promise<void> {
  const { rows, live } = await contents();
  const wanted = live.flatMap((row) =>
    Array.from({ length: row['chunks_count'] as number }, (_, n) => `${row['id']}_${row['active_generation']}_${n}`),
  );
  expect(rows.map((row) => row.chunk_id).toSorted()).toEqual(wanted.toSorted());
  const generations = await test.appliance.sql`SELECT id FROM generations WHERE bucket_id = ${bucket.id} ORDER BY id`;
  expect(generations.map((row) => row['id'])).toEqual(
    live.map((row) => row['active_generation']).toSorted((a, b) => a - b),
  );
  for (const row of live) {
    const kept: string[] = [];
    for await (const { key } of test.appliance.objects.list(`documents/${test.operator.orgId}/${row['id']}/`)) {
      if (key.includes('chunks-')) kept.push(key);
    }
    expect(kept).toEqual([row['artifact_key']]);
  }
}

/** The storage, with something that happens before an object is written. */
function beforePut(meddle: (key: string) => Promise<void>): ReprojectContext {
  const { objects } = test.appliance;
  const put: Objects['put'] = async (key, body, options) => {
    await meddle(key);
    return objects.put(key, body, options);
  };
  const wrapped = new Proxy(objects, {
    get: (target, name: keyof Objects) => (name === 'put' ? put : target[name].bind(target)),
  });
  return { ...context, objects: wrapped };
}

const texts = (count: number, seed: number) => syntheticTexts(count, seed).map(({ text }) => text);
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error) => error,
  );

describe('a model whose map is fitted again', () => {
  it('has its documents projected anew where they are, and no provider is called', async () => {
    const mine = texts(12, 3);
    await ingest(ALPHA, mine, 'a');
    await ingest(BETA, texts(3, 4), 'b');
    const { map_version: version } = await calibrate(test.appliance, ALPHA, { pairs: 520 });
    const before = test.upstream.calls.length;
    const plan = await planReprojection(context, test.operator, { bucket: bucket.name, models: [ALPHA] });
    expect(plan).toMatchObject({ mode: 'in_place', documents: 12, chunks: 12, warnings: [] });
    expect(await reproject([ALPHA])).toMatchObject({ mode: 'in_place', documents: 12, map_versions: [version] });
    expect(test.upstream.calls).toHaveLength(before);
    await sweep();
    await expectExact();

    const { rows, live } = await contents();
    expect(live.filter((row) => row['embed_model'] === BETA)).toHaveLength(3);
    for (const row of live) {
      if (row['embed_model'] !== ALPHA) continue;
      expect(row['map_version']).toBe(version);
      const artifact = await readArtifact(test.appliance.objects, row['artifact_key'] as string);
      const fresh = await embedForIndex(test.appliance.embedding.embedder, {
        texts: [artifact.chunks[0]?.text as string],
        model: ALPHA,
        taskType: 'retrieval_document',
        orgId: test.operator.orgId,
        charge: null,
      });
      const stored = rows.find((each) => each.chunk_id === `${row['id']}_${row['active_generation']}_0`)?.vector;
      const cosine = [...fresh.vectors].reduce((sum, x, i) => sum + x * (stored.get(i) as number), 0);
      expect(cosine).toBeGreaterThan(1 - 1e-5);
      expect(artifact).toMatchObject({ mapVersion: version, space: 'canon-v1' });
    }
    expect(await reproject([ALPHA])).toMatchObject({ mode: 'nothing', documents: 0 });
    expect((await search(mine[5] as string)).names[0]).toBe('a5.txt');
  });

  it('leaves a document alone that is ingested anew meanwhile', async () => {
    await ingest(ALPHA, texts(3, 5));
    await calibrate(test.appliance, ALPHA, { pairs: 530 });
    const { sql } = test.appliance;
    const [target] = (await contents()).live;
    let overtaken = false;
    const meddling = beforePut(async (key) => {
      if (!key.includes(target?.['id'] as string) || overtaken) return;
      overtaken = true;
      // What the end of an ingest does.
      const next = Number((await sql`SELECT nextval('document_generations') AS id`)[0]?.['id']);
      await sql`
        INSERT INTO generations SELECT (copies.g).* FROM (
          SELECT jsonb_populate_record(g, jsonb_build_object('id', ${next}::bigint, 'map_version', 999)) AS g
          FROM generations g WHERE id = ${target?.['active_generation'] as number}) AS copies`;
      await sql`UPDATE documents SET active_generation = ${next} WHERE id = ${target?.['id'] as string}`;
    });
    const report = await reproject([ALPHA], { context: meddling });
    expect(overtaken).toBe(true);
    // The newer generation was pending itself, so a second round took care of it.
    expect(report.documents).toBe(3);
    const generations = (await contents()).live.map((row) => row['map_version']);
    expect(new Set(generations).size).toBe(1);
    await sweep();
    await expectExact();
  });
});

describe('a model that gets its first map', () => {
  it('has its bucket moved into the canonical space at once, while searches go on', async () => {
    const model = native(0);
    const mine = [...texts(120, 6), 'kingfisher island storm'];
    await ingest(model, mine);
    expect((await contents()).space).toBe(`native:${model}@1`);
    await calibrate(test.appliance, model);
    const keyword = await search('kingfisher', 'hybrid');
    expect(keyword.warnings.join()).toContain('keyword only');
    expect(keyword.names[0]).toBe('d120.txt');

    const before = test.upstream.calls.filter((call) => call.texts.length > 1).length;
    let isDone = false;
    const run = reproject([model]).finally(() => {
      isDone = true;
    });
    const seen: { names: readonly string[]; scored: boolean; warnings: number }[] = [];
    while (!isDone) {
      const { names, results, warnings } = await search('kingfisher island', 'hybrid');
      const scored = results.some((hit) => hit.scores.vector_score !== null);
      seen.push({ names, scored, warnings: warnings.length });
    }
    expect(await run).toMatchObject({ mode: 'new_table', documents: 121, space: 'canon-v1' });
    expect(seen.every(({ names }) => names.includes('d120.txt'))).toBe(true);
    // By keyword alone until the moment of the swap, by both from then on; never a vector score beside a warning.
    expect(seen.every(({ scored, warnings }) => scored === (warnings === 0))).toBe(true);
    expect(seen[0]?.scored).toBe(false);
    expect(test.upstream.calls.filter((call) => call.texts.length > 1)).toHaveLength(before);

    await sweep();
    await expectExact();
    await route(BETA);
    const found = await search('storm island kingfisher');
    expect(found).toMatchObject({ model: BETA, warnings: [] });
    expect(found.names[0]).toBe('d120.txt');
    await ingest(ALPHA, ['oven butter kettle'], 'new');
    expect((await search('butter oven')).names[0]).toBe('new0.txt');
  });

  it('is finished by the next run when one was interrupted, and nothing is there twice', {
    timeout: 60_000,
  }, async () => {
    const model = native(1);
    // Several batches: five documents of some 450 chunks each.
    const long = (seed: number) => texts(1_500, seed).join('. ');
    await ingest(model, [20, 21, 22, 23, 24].map(long), 'long', { chunk_size: 64, chunk_overlap: 0 });
    const chunks = (await contents()).rows.length;
    expect(chunks).toBeGreaterThan(2_000);
    await calibrate(test.appliance, model);
    const stop = new AbortController();
    const interrupted = reproject([model], { signal: stop.signal, onProgress: () => stop.abort(new Error('stop')) });
    expect((await failure(interrupted))?.message).toBe('stop');
    const run = await findReprojection(test.appliance.sql, bucket.id);
    // As a kill leaves it: of one document, rows are missing.
    const table = await context.tables.write(run?.tableName as string);
    const [some] = await table.query().select(['generation']).limit(1).toArray();
    await table.delete(`generation = ${some.generation} AND chunk_index > 10`);
    const kept = new Set((await table.query().select(['generation']).toArray()).map((row) => Number(row.generation)));
    expect(kept.size).toBeGreaterThan(1);
    // Housekeeping between the two leaves what is good to be taken up.
    await sweep();
    expect((await contents()).space).toBe(`native:${model}@1`);
    const report = await reproject([model]);
    expect(report).toMatchObject({ mode: 'new_table', documents: 5 - kept.size + 1 });
    await sweep();
    await expectExact();
    expect((await contents()).rows).toHaveLength(chunks);
  });

  it('makes uploads wait, not fail, and drops the old table when nobody can be in it', async () => {
    const model = native(2);
    await ingest(model, texts(3, 9));
    await calibrate(test.appliance, model);
    const { sql } = test.appliance;
    const { uploads } = test.appliance.ingest;
    let jobId = '';
    let isFirst = true;
    const meddling = beforePut(async () => {
      if (!isFirst) return;
      isFirst = false;
      const content = { bytes: Buffer.from('rope sail anchor'), fileName: 'late.txt', contentType: null };
      const reply = await uploadDocument(uploads, test.operator, bucket.name, content, UploadRequest.parse({}));
      jobId = reply.job_id as string;
      await until(async () => {
        const rows =
          await sql`SELECT 1 FROM jobs WHERE id = ${jobId} AND status = 'queued' AND scheduled_at IS NOT NULL`;
        return rows.length > 0;
      });
    });
    const before = (await contents()).name as string;
    await reproject([model], { context: meddling });
    await sql`UPDATE jobs SET scheduled_at = NULL WHERE status = 'queued'`;
    await test.appliance.doorbell.ring('ingest');
    const late = await until(async () => {
      const [row] = await sql`SELECT * FROM jobs WHERE id = ${jobId}`;
      return row?.['status'] === 'ready' && row;
    });
    expect(late['retry_count']).toBe(0);
    expect((await search('rope sail anchor')).names[0]).toBe('late.txt');
    const namesOf = async () =>
      (await sql`SELECT table_name FROM retired_index_tables`).map((row) => row['table_name']);
    await sweep();
    expect(await namesOf()).toContain(before);
    await sql`UPDATE retired_index_tables SET retired_at = now() - interval '1 hour'`;
    await sweep();
    expect(await namesOf()).not.toContain(before);
    expect(await context.tables.read(before, 1)).toBeNull();
  });

  it('answers a search that the swap overtakes from the new table', async () => {
    const model = native(3);
    await ingest(model, [...texts(5, 10), 'kingfisher nest']);
    await calibrate(test.appliance, model);
    let isFirst = true;
    const tables = Object.create(context.tables, {
      read: {
        value: async (name: string, version: number) => {
          const table = await context.tables.read(name, version);
          if (isFirst) {
            isFirst = false;
            await reproject([model]);
          }
          return table;
        },
      },
    });
    const request = SearchRequest.parse({ query: 'kingfisher' });
    const search = { ...test.appliance.search, tables };
    const reply = await searchBucket(search, test.operator, bucket.name, request);
    expect(isFirst).toBe(false);
    expect(reply.results[0]?.citation.file_name).toBe('d5.txt');
    expect(reply.results[0]?.scores.vector_score).not.toBeNull();
  });

  it('takes no deleted document along, and does not let an attempt of the old space become visible', async () => {
    const model = native(4);
    await ingest(model, texts(4, 11));
    await calibrate(test.appliance, model);
    const { sql, objects, documents } = test.appliance;
    const [gone] = (await contents()).live;
    let isDeleted = false;
    // Its new generation is registered, and neither stored nor in the table yet: nothing of it may be counted or left.
    const meddling = beforePut(async (key) => {
      if (isDeleted || !key.includes(`/${gone?.['id']}/`)) return;
      isDeleted = true;
      await deleteDocument(sql, test.operator, bucket.name, gone?.['id'] as string);
      await documents.purge(signal);
    });
    expect(await reproject([model], { context: meddling })).toMatchObject({ documents: 3 });
    expect(isDeleted).toBe(true);
    await sweep();
    await expectExact();
    for await (const object of objects.list(`documents/${test.operator.orgId}/${gone?.['id']}/`)) {
      expect(object.key).toBe('nothing is left');
    }
    expect(await sql.begin((tx) => holdIndexSpace(tx, bucket.id, `native:${model}@1`))).toBe(false);
    expect(await sql.begin((tx) => holdIndexSpace(tx, bucket.id, 'canon-v1'))).toBe(true);
  });

  it('stops at a damaged artifact, names its document, and goes on once it is deleted', async () => {
    const model = native(5);
    await ingest(model, texts(5, 12));
    await calibrate(test.appliance, model);
    const { sql, objects } = test.appliance;
    const [damaged] = (await contents()).live;
    await objects.put(damaged?.['artifact_key'] as string, Buffer.from('not an artifact'));
    const error = await failure(reproject([model]));
    expect(error).toMatchObject({ code: 'reproject_incomplete', status: 409 });
    expect(error.message).toContain(damaged?.['id']);
    expect((await contents()).space).toBe(`native:${model}@1`);
    await deleteDocument(sql, test.operator, bucket.name, damaged?.['id'] as string);
    // The other four were written before the run stopped, by a map that is not in use any more.
    const { map_version: version } = await calibrate(test.appliance, model, { pairs: 550 });
    expect(await reproject([model])).toMatchObject({ mode: 'new_table', documents: 4 });
    const { space, live } = await contents();
    expect([space, new Set(live.map((row) => row['map_version']))]).toEqual(['canon-v1', new Set([version])]);
    await test.appliance.documents.purge(signal);
    await sweep();
    await expectExact();
  });

  it('is given up an hour after its last sign of life, and leaves nothing behind', async () => {
    const model = native(6);
    await ingest(model, texts(20, 13));
    await calibrate(test.appliance, model);
    const stop = new AbortController();
    await failure(reproject([model], { signal: stop.signal, onProgress: () => stop.abort(new Error('stop')) }));
    const { sql } = test.appliance;
    const run = await findReprojection(sql, bucket.id);
    await sql`UPDATE reprojections SET touched_at = now() - interval '2 hours'`;
    await sweep();
    expect(await findReprojection(sql, bucket.id)).toBeNull();
    await sql`UPDATE retired_index_tables SET retired_at = now() - interval '1 hour'`;
    await sweep();
    expect(await context.tables.read(run?.tableName as string, 1)).toBeNull();
    await expectExact();
    expect(await reproject([model])).toMatchObject({ documents: 20 });
    await sweep();
    await expectExact();
  });
});

describe('refuses, and says what to do', () => {
  it.each([
    ['a model without a map', native(7), 'map_missing', `service projections fit --model ${native(7)}`],
    ['the alias', 'service-embed-1-small', 'not_projectable', 'name those'],
    ['the lexical model', 'local/lexical-1', 'not_projectable', 'no native vectors'],
    ['a model that is unknown', 'no/such', 'unknown_model', 'GET /v1/models'],
  ])('%s', async (_, model, code, words) => {
    const error = await failure(reproject([model]));
    expect(error).toMatchObject({ code });
    expect(error.message).toContain(words);
  });

  it('an unknown bucket', async () => {
    const request = { bucket: 'nowhere', models: [ALPHA] };
    expect(await failure(reprojectBucket(context, test.operator, request, { signal }))).toMatchObject({
      code: 'bucket_not_found',
    });
  });

  it('documents of other models where the space changes, naming them', async () => {
    await ingest('local/lexical-1', ['tide table'], 'words');
    const lexical = await failure(reproject([ALPHA]));
    expect(lexical).toMatchObject({ code: 'cannot_reproject', status: 409, details: { models: ['local/lexical-1'] } });
    expect(lexical.message).toContain('upload them again');
    bucket = await createBucket(test.appliance.sql, test.operator, { name: 'other', policy: BucketPolicy.parse({}) });
    await ingest(native(7), ['tide table']);
    const other = await failure(reproject([ALPHA]));
    expect(other).toMatchObject({ code: 'cannot_reproject', details: { models: [native(7)] } });
    expect(other.message).toContain(`service projections fit --model ${native(7)}`);
  });

  it('documents without native vectors, and those of another revision, but leaves them where they can be compared', async () => {
    await ingest(ALPHA, texts(3, 14));
    const { sql, objects } = test.appliance;
    const [old, other] = (await contents()).live;
    await sql`UPDATE generations SET native_dimension = NULL WHERE id = ${old?.['active_generation'] as number}`;
    await sql`UPDATE generations SET embed_revision = '0' WHERE id = ${other?.['active_generation'] as number}`;
    await calibrate(test.appliance, ALPHA, { pairs: 540 });
    const request = { bucket: bucket.name, models: [ALPHA] };
    const plan = await planReprojection(context, test.operator, request);
    expect(plan).toMatchObject({ mode: 'in_place', documents: 1 });
    expect(plan.warnings.join()).toContain('no native vectors');
    expect(plan.warnings.join()).toContain('revision 0');
    expect(await reproject([ALPHA])).toMatchObject({ documents: 1 });

    await sql`UPDATE index_tables SET space = 'canon-v0' WHERE bucket_id = ${bucket.id}`;
    const error = await failure(reproject([ALPHA]));
    expect(error).toMatchObject({ code: 'cannot_reproject' });
    expect(error.message).toContain('no native vectors are stored with them; delete them');
    // What PostgreSQL does not know of: an artifact that lost them.
    const key = old?.['artifact_key'] as string;
    const artifact = decodeArtifact(await objects.get(key));
    await objects.put(key, encodeArtifact({ ...artifact, native: null }));
    await sql`UPDATE generations SET native_dimension = 160, embed_revision = '1' WHERE bucket_id = ${bucket.id}`;
    expect(await failure(reproject([ALPHA]))).toMatchObject({
      code: 'reproject_incomplete',
      details: { documents: [old?.['id']] },
    });
  });
});

it('two runs of one bucket take turns, and the second finds nothing to do', async () => {
  const model = native(7);
  await ingest(model, texts(40, 15));
  await calibrate(test.appliance, model);
  const reports = await Promise.all([reproject([model]), reproject([model])]);
  expect(reports.map((report) => report.documents).toSorted((a, b) => a - b)).toEqual([0, 40]);
  await sweep();
  await expectExact();
});
