import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import type { SeededRandom } from '../support/random.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const BUCKETS = ['one', 'two'] as const;
const MODELS = ['local/lexical-1', 'vendor-a/alpha', 'vendor-d/delta'] as const;
const SCOPES = [
  ...(['embed', 'search', 'documents:write', 'buckets:manage', 'routing:manage'] as const),
  'jobs:write' as const,
];
/** Live documents of a bucket, at most: the searches of a quiet point grow with them. */
const DOCUMENTS_MAX = 40;

type BucketName = (typeof BUCKETS)[number];

interface Known {
  readonly id: string;
  /** Word that no other document has. */
  readonly word: string;
}

interface State {
  readonly live: Map<BucketName, Known[]>;
  readonly deleted: Map<BucketName, Known[]>;
  serial: number;
}

/**
 * Drives an installation whose worker is a process of its own through random uploads, edits, deletions, model switches,
 * outages of providers, reembeds, cancellations and kills of the worker.
 */
export class ModelSwitches {
  readonly #test: TestGateway;
  readonly #key: string;
  readonly #random: SeededRandom;
  readonly #env: NodeJS.ProcessEnv;
  readonly #state: State = {
    live: new Map(BUCKETS.map((bucket) => [bucket, []])),
    deleted: new Map(BUCKETS.map((bucket) => [bucket, []])),
    serial: 0,
  };
  #worker: ServiceProcess | null = null;
  /** Searches whose results were compared. */
  searches = 0;
  kills = 0;
  reembeds = 0;

  private constructor(test: TestGateway, key: string, random: SeededRandom, env: NodeJS.ProcessEnv) {
    this.#test = test;
    this.#key = key;
    this.#random = random;
    this.#env = env;
  }

  static async open(random: SeededRandom): Promise<ModelSwitches> {
    const settings = {
      models: [
        { id: 'vendor-a/alpha', vendor: 'vendor-a', dimensions: 64, max_tokens: 8192 },
        { id: 'vendor-d/delta', vendor: 'vendor-d', dimensions: 1024, max_tokens: 8192 },
      ],
      workers: { lease_seconds: 5, retries_max: 3 },
      bulk: { retry_window_hours: 24 },
    };
    const test = await openTestGateway(settings, { semantic: true, dimensions: { alpha: 64 } });
    const file = path.join(test.dataDir, 'worker.yaml');
    const { upstream, korean } = test;
    const apiKey = 'canary-sk-5f2b1c9d7e';
    const providers = {
      'vendor-a': { protocol: 'openai', base_url: upstream.baseUrl('openai'), api_key: apiKey, retries_max: 0 },
      'vendor-d': { protocol: 'tei', base_url: korean.baseUrl('tei'), retries_max: 0 },
    };
    writeFileSync(file, JSON.stringify({ ...settings, providers }));
    const env = { SERVICE_CONFIG: file, SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl };
    const key = await test.key({ authLevel: 10, scopes: [...SCOPES] });
    const run = new ModelSwitches(test, key, random, env);
    for (const name of BUCKETS) expect((await run.#call('POST', '/v1/buckets', { name })).status).toBe(201);
    await run.#startWorker();
    return run;
  }

  async close(): Promise<void> {
    await this.#worker?.end('SIGKILL');
    await this.#test.close();
  }

  /** Take one random step. */
  async step(killEvery: number): Promise<void> {
    if (this.#random.int(killEvery) === 0) return this.#kill();
    const bucket = this.#random.pick(BUCKETS);
    const steps = [
      ...Array.from({ length: 6 }, () => () => this.#upload(bucket)),
      ...Array.from({ length: 6 }, () => () => this.#edit(bucket)),
      ...Array.from({ length: 4 }, () => () => this.#delete(bucket)),
      ...Array.from({ length: 2 }, () => () => this.#route()),
      ...Array.from({ length: 2 }, () => () => this.#reembed(bucket)),
      () => this.#cancel(bucket),
      () => this.#outage(true),
      () => this.#outage(false),
    ];
    await this.#random.pick(steps)();
  }

  /** Wait until nothing is left to do, and compare what keyword searches find with what is there. */
  async compare(): Promise<void> {
    this.#outage(false);
    const { sql } = this.#test.appliance;
    const isQuiet = async () => {
      // The pauses of an outage may be minutes; it is over.
      await sql`UPDATE jobs SET scheduled_at = now() WHERE status = 'queued' AND scheduled_at > now()`;
      const [row] = await sql`
        SELECT count(*)::int AS count FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
      return row?.['count'] === 0;
    };
    await until(isQuiet, { withinMs: 300_000, everyMs: 250, what: 'the end of all jobs' });
    const faults: string[] = [];
    for (const bucket of BUCKETS) {
      for (const { id, word } of this.#documents(this.#state.live, bucket)) {
        const [first] = await this.#find(bucket, word);
        if (first !== id) faults.push(`${word} of ${bucket} is not found: ${await this.#describe(bucket, id)}`);
      }
      for (const { id, word } of this.#documents(this.#state.deleted, bucket).splice(0)) {
        if ((await this.#find(bucket, word)).includes(id)) faults.push(`${word} of ${bucket} is found, though deleted`);
      }
    }
    expect(faults).toEqual([]);
  }

  async #describe(bucket: string, id: string): Promise<string> {
    const { status, body } = await this.#call('GET', `/v1/buckets/${bucket}/documents/${id}`);
    return `${status} ${body.status} ${body.error_message ?? ''}`;
  }

  #documents(of: Map<BucketName, Known[]>, bucket: BucketName): Known[] {
    return of.get(bucket) as Known[];
  }

  async #upload(bucket: BucketName): Promise<void> {
    const live = this.#documents(this.#state.live, bucket);
    if (live.length >= DOCUMENTS_MAX) return this.#delete(bucket);
    const word = `heron${++this.#state.serial}q`;
    const json = { filename: `${word}.txt`, text: `The ${word} stands still in the shallow water of the harbour.` };
    const { status, body } = await this.#call('POST', `/v1/buckets/${bucket}/documents`, json);
    expect(status).toBe(202);
    live.push({ id: body.id, word });
  }

  async #edit(bucket: BucketName): Promise<void> {
    const live = this.#documents(this.#state.live, bucket);
    if (live.length === 0) return;
    const { id } = this.#random.pick(live);
    const json = { metadata: { step: `${this.#random.int(1_000)}` }, reindex: this.#random.int(4) > 0 };
    const { status } = await this.#call('PATCH', `/v1/buckets/${bucket}/documents/${id}/metadata`, json);
    expect(status).toBe(200);
  }

  async #delete(bucket: BucketName): Promise<void> {
    const live = this.#documents(this.#state.live, bucket);
    if (live.length === 0) return;
    const [gone] = live.splice(this.#random.int(live.length), 1) as [Known];
    expect((await this.#call('DELETE', `/v1/buckets/${bucket}/documents/${gone.id}`)).status).toBe(200);
    this.#documents(this.#state.deleted, bucket).push(gone);
  }

  async #route(): Promise<void> {
    const { status } = await this.#call('PUT', '/v1/routing', { primary: this.#random.pick(MODELS) });
    expect(status).toBe(200);
  }

  async #reembed(bucket: BucketName): Promise<void> {
    const { status, body } = await this.#call('POST', `/v1/buckets/${bucket}/reembed`, {
      model: this.#random.pick(MODELS),
    });
    if (status === 202) this.reembeds++;
    // 409: the bucket is empty, or a job makes its index anew already.
    else expect([200, 409]).toContain(status);
    if (status === 409)
      expect(body.detail).toMatch(/no searchable documents|already rebuilding the index of this bucket/);
  }

  async #cancel(bucket: BucketName): Promise<void> {
    const rows = await this.#test.appliance.sql`
      SELECT jobs.id FROM jobs JOIN buckets ON buckets.id = jobs.bucket_id
      WHERE buckets.name = ${bucket} AND jobs.kind = 'reindex' AND jobs.status NOT IN ('ready', 'failed', 'cancelled')`;
    for (const { id } of rows) {
      const { status } = await this.#call('POST', `/v1/jobs/${id}/cancel?force=true`);
      expect([200, 409]).toContain(status);
    }
  }

  #outage(isOn: boolean): void {
    for (const upstream of isOn
      ? [this.#random.pick([this.#test.upstream, this.#test.korean])]
      : [this.#test.upstream, this.#test.korean])
      upstream.decide = () => (isOn ? { kind: 'status', status: 503 } : null);
  }

  async #kill(): Promise<void> {
    await this.#worker?.end('SIGKILL');
    this.kills++;
    await this.#startWorker();
  }

  async #startWorker(): Promise<void> {
    this.#worker = await startServiceProcess(['worker', 'ingest'], this.#env);
  }

  async #find(bucket: string, query: string): Promise<string[]> {
    this.searches++;
    const json = { query, mode: 'keyword', top_k: 5 };
    const { status, body } = await this.#call('POST', `/v2/buckets/${bucket}/search`, json);
    expect(status).toBe(200);
    return body.results.map((hit: { document_id: string }) => hit.document_id);
  }

  #call(method: string, route: string, json?: unknown) {
    return this.#test.call(method, route, { key: this.#key, ...(json === undefined ? {} : { json }) });
  }
}
