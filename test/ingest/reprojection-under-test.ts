import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { sweepTables } from '../../src/index/writing/replace-table.ts';
import { sweepGenerations } from '../../src/index/writing/sweep.ts';
import { type ReindexContext, reprojectBucket } from '../../src/ingest/reindex/reindex-bucket.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { calibrate } from '../support/calibrate.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { syntheticTexts } from '../support/synthetic-models.ts';
import { until } from '../support/until.ts';

export const ALPHA = 'vendor-a/alpha';
export const BETA = 'vendor-e/beta';
/** Id of a model without a map; each test that needs one uses its own. */
export const native = (nth: number) => `vendor-a/native-${nth}`;
const NATIVES = 8;
const INGEST_MS_MAX = 120_000;
export const signal = new AbortController().signal;

const own = (id: string, dimensions: number) => ({ id, vendor: id.split('/')[0], dimensions, max_tokens: 8192 });
export const texts = (count: number, seed: number) => syntheticTexts(count, seed).map(({ text }) => text);
export const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => null,
    (error) => error,
  );

/** Options of one run; `context` replaces that of the installation. */
interface RunOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: () => void;
  readonly context?: ReindexContext;
}

/** Installation with two models that have maps and several that have none, and a separate bucket for each test. */
export class ReprojectionUnderTest {
  test!: TestGateway;
  context!: ReindexContext;
  bucket!: { id: string; name: string };
  #serial = 0;

  async open(): Promise<Service> {
    const natives = Array.from({ length: NATIVES }, (_, nth) => native(nth));
    const dimensions = Object.fromEntries(natives.map((id) => [id.split('/')[1], 128]));
    this.test = await openTestGateway(
      { models: [own(ALPHA, 160), own(BETA, 96), ...natives.map((id) => own(id, 128))] },
      { semantic: true, dimensions: { alpha: 160, beta: 96, ...dimensions } },
    );
    const { appliance } = this.test;
    const worker = appliance.jobs.worker('ingest');
    await worker.start(signal);
    this.context = appliance.ingest.reindex;
    await calibrate(appliance, ALPHA, { reference: true });
    await calibrate(appliance, BETA);
    return worker;
  }

  async useBucket(name = `bucket-${++this.#serial}`): Promise<void> {
    const { appliance, operator } = this.test;
    this.bucket = await createBucket(appliance.sql, operator, { name, policy: BucketPolicy.parse({}) });
  }

  route(primary: string) {
    const { appliance, operator } = this.test;
    return appliance.embedding.routing.set(operator, { primary, fallback: null, mode: 'single' });
  }

  /** Ingest texts by `model`; the document of text n has the file name `<prefix>n.txt`. */
  async ingest(model: string, all: readonly string[], prefix = 'd', options: Record<string, number> = {}) {
    await this.route(model);
    const { appliance, operator } = this.test;
    const { sql } = appliance;
    const before = (await sql`SELECT 1 FROM documents WHERE bucket_id = ${this.bucket.id}`).length;
    const uploads = all.map((text, n) => {
      const content = { bytes: Buffer.from(text), fileName: `${prefix}${n}.txt`, contentType: null };
      const request = UploadRequest.parse({ on_duplicate: 'allow', ...options });
      return uploadDocument(appliance.ingest.uploads, operator, this.bucket.name, content, request);
    });
    await Promise.all(uploads);
    const areReady = async () => {
      const rows = await sql`SELECT 1 FROM documents WHERE bucket_id = ${this.bucket.id} AND status = 'ready'`;
      return rows.length === before + all.length;
    };
    await until(areReady, { withinMs: INGEST_MS_MAX, what: 'ingest' });
  }

  reproject(models: string[], { context = this.context, ...options }: RunOptions = {}) {
    return reprojectBucket(context, this.test.operator, { bucket: this.bucket.name, models }, { signal, ...options });
  }

  async search(query: string, mode = 'vector') {
    const request = SearchRequest.parse({ query, mode, top_k: 100 });
    const reply = await searchBucket(this.test.appliance.search, this.test.operator, this.bucket.name, request);
    return { ...reply, names: reply.results.map((hit) => hit.citation.file_name) };
  }

  async sweep(): Promise<void> {
    const { sql, objects, logger } = this.test.appliance;
    await sweepTables({ ...this.context, logger }, signal);
    await sweepGenerations({ sql, objects, index: this.context.index, logger }, signal);
  }

  /** Read the current table: its rows, and the live generations that PostgreSQL has for it. */
  async contents() {
    const { sql } = this.test.appliance;
    const table = await getIndexTable(sql, this.bucket.id);
    const opened = await this.test.appliance.search.lance.tables.openForReading(
      table?.name as string,
      table?.version as number,
    );
    const rows = (await opened?.query().select(['chunk_id', 'generation', 'vector']).toArray()) ?? [];
    const live = await sql`
      SELECT d.id, d.active_generation, g.artifact_key, g.chunks_count, g.map_version, g.space, g.embed_model
      FROM documents d JOIN generations g ON g.id = d.active_generation
      WHERE d.bucket_id = ${this.bucket.id} ORDER BY d.id`;
    return { rows, live, space: table?.origin?.space, name: table?.name };
  }

  /**
   * Expect that every row is of a live generation, every live chunk has one row, and every artifact is of a live
   * generation.
   */
  async expectExact(): Promise<void> {
    const { rows, live } = await this.contents();
    const { sql, objects } = this.test.appliance;
    const wanted = live.flatMap((row) =>
      Array.from({ length: row['chunks_count'] as number }, (_, n) => `${row['id']}_${row['active_generation']}_${n}`),
    );
    expect(rows.map((row) => row.chunk_id).toSorted()).toEqual(wanted.toSorted());
    const generations = await sql`SELECT id FROM generations WHERE bucket_id = ${this.bucket.id} ORDER BY id`;
    expect(generations.map((row) => row['id'])).toEqual(
      live.map((row) => row['active_generation']).toSorted((a, b) => a - b),
    );
    for (const row of live) {
      const kept: string[] = [];
      for await (const { key } of objects.list(`documents/${this.test.operator.orgId}/${row['id']}/`)) {
        if (key.includes('chunks-')) kept.push(key);
      }
      expect(kept).toEqual([row['artifact_key']]);
    }
  }

  /** Make a context whose runs call `action` before each object is written. */
  beforePut(action: (key: string) => Promise<void>): ReindexContext {
    const { objects } = this.test.appliance;
    const put: Objects['put'] = async (key, body, options) => {
      await action(key);
      return objects.put(key, body, options);
    };
    const putMany: Objects['putMany'] = async (written, options) => {
      for (const { key } of written) await action(key);
      return objects.putMany(written, options);
    };
    const own: Partial<Objects> = { put, putMany };
    const wrapped = new Proxy(objects, {
      get: (target, name: keyof Objects) => own[name] ?? target[name].bind(target),
    });
    return { ...this.context, objects: wrapped };
  }
}

/** Registers the hooks that open and close the installation and give each test a bucket. */
export function reprojectionUnderTest(): ReprojectionUnderTest {
  const under = new ReprojectionUnderTest();
  let worker: Service;
  beforeAll(async () => {
    worker = await under.open();
  });
  afterAll(async () => {
    await worker?.stop();
    await under.test?.close();
  });
  beforeEach(() => under.useBucket());
  afterEach(() => expect(under.test.upstream.violations).toEqual([]));
  return under;
}
