import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { getBulkJob } from '../../src/bulk/bulk-jobs.ts';
import { chunkKey } from '../../src/bulk/object-keys.ts';
import { CANARY_KEY, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { heldFrom } from '../support/held-from.ts';
import { createTestRandom } from '../support/random.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

/** Model of little work for the fake upstream, which runs in this process. */
const TINY = { id: 'vendor-a/tiny', vendor: 'vendor-a', dimensions: 16, max_tokens: 8_000 };
const STEP_MS_MAX = 120_000;
const HELD_MS = 3_600_000;
const CHUNK_TEXTS = 100;

/** Runner of bulk jobs whose only worker is a process that is killed in the middle. */
export class KilledBulkWorker {
  readonly #test: TestGateway;
  readonly #key: string;
  readonly #random = createTestRandom('kill a worker of bulk jobs');
  readonly #ids: string[] = [];
  /** Chunks that were already stored when one of their texts was sent. */
  readonly #sentAgain: string[] = [];
  #textsSent = 0;
  /** Number of the first text that is not answered yet. */
  #heldFrom = Number.POSITIVE_INFINITY;
  #worker: ServiceProcess | null = null;

  private constructor(test: TestGateway, key: string) {
    this.#test = test;
    this.#key = key;
    test.upstream.decide = ({ texts }) => {
      this.#noteIfStored(texts[0] as string);
      const isHeld = numberOf(texts[0] as string) >= this.#heldFrom;
      return { kind: 'delay', ms: isHeld ? HELD_MS : 50 + this.#random.int(150) };
    };
  }

  static async open(): Promise<KilledBulkWorker> {
    const test = await openTestGateway({ models: [TINY] }, { dimensions: { tiny: 16 } });
    const provider = { protocol: 'openai', base_url: test.upstream.baseUrl('openai'), api_key: CANARY_KEY };
    const settings = { providers: { 'vendor-a': provider }, models: [TINY] };
    writeFileSync(path.join(test.dataDir, 'service.yaml'), JSON.stringify(settings));
    const opened = new KilledBulkWorker(test, await test.key({ scopes: ['embed'] }));
    await opened.#start();
    return opened;
  }

  async close(): Promise<void> {
    await this.#worker?.end('SIGKILL');
    await this.#test.close();
  }

  /** Run a job of `count` texts while its worker is killed `kills` times; expect every vector to belong to its text. */
  async runJob(count: number, kills: number): Promise<void> {
    const texts = Array.from({ length: count }, (_, i) => `job ${this.#ids.length} text ${i}`);
    const share = count / (kills + 1);
    const plan = { count, kills, chunkTexts: CHUNK_TEXTS };
    this.#heldFrom = heldFrom(0, plan);
    this.#textsSent += count;
    const { id } = await this.#call('POST', '/v1/embed/jobs', { texts, model: TINY.id });
    this.#ids.push(id);
    const job = () => getBulkJob(this.#test.appliance.sql, this.#test.operator, id);
    let from = 0;
    for (let kill = 0; kill < kills; kill++) {
      const atLeast = this.#random.int(share) + kill * share;
      const isDue = async () => {
        const done = (await job()).metadata.completed_count;
        return done > from && done >= atLeast;
      };
      await until(isDue, { withinMs: STEP_MS_MAX, what: 'the progress to kill at' });
      await this.#worker?.end('SIGKILL');
      // Read before the next worker starts, which may at once do all that the upstream doesn't hold.
      from = (await job()).metadata.completed_count;
      this.#heldFrom = heldFrom(kill + 1, plan);
      await this.#start();
    }
    await until(async () => (await job()).status === 'ready', { withinMs: STEP_MS_MAX, what: 'the end of the job' });
    expect((await job()).metadata.completed_count).toBe(count);
    await this.#expectVectors(id, texts);
  }

  /** Expect that no stored chunk was embedded again, and that usage counts every text once. */
  async expectNothingTwice(): Promise<void> {
    expect(this.#sentAgain).toEqual([]);
    const usage = await this.#call('GET', '/v1/usage/summary');
    expect(usage.axes.embed_batch).toMatchObject({ requests: this.#ids.length, texts: this.#textsSent });
    const rows = await this.#test.appliance.sql`SELECT fence FROM jobs`;
    const claims = rows.map((row) => row['fence'] as number);
    expect(claims).toHaveLength(this.#ids.length);
    for (const claim of claims) expect(claim).toBeGreaterThan(1);
  }

  async #start(): Promise<void> {
    const env = { DATABASE_URL: this.#test.databaseUrl, SERVICE_LOG_LEVEL: 'error' };
    this.#worker = await startServiceProcess(['worker', 'embed', '--data-dir', this.#test.dataDir], env);
  }

  /** @param first first text of a call, as made by `runJob` */
  #noteIfStored(first: string): void {
    const [, nth = ''] = first.split(' ');
    const chunk = numberOf(first) / CHUNK_TEXTS;
    const key = chunkKey(this.#test.operator.orgId, this.#ids[Number(nth)] ?? 'new', chunk);
    const object = path.join(this.#test.dataDir, 'objects', key);
    if (existsSync(object)) this.#sentAgain.push(object);
  }

  async #expectVectors(id: string, texts: readonly string[]): Promise<void> {
    for (let offset = 0; offset < texts.length; offset += 1_000) {
      const page = await this.#call('GET', `/v1/embed/jobs/${id}/result?offset=${offset}&limit=1000`);
      expect(page.data).toHaveLength(Math.min(1_000, texts.length - offset));
      for (const { index, embedding } of page.data) {
        const native = this.#test.upstream.vectorOf('tiny', texts[index] as string);
        const norm = Math.hypot(...native);
        expect(Math.abs(embedding[0] - (native[0] as number) / norm)).toBeLessThan(1e-6);
        expect(Math.abs(embedding[15] - (native[15] as number) / norm)).toBeLessThan(1e-6);
      }
    }
  }

  async #call(method: string, at: string, json?: unknown) {
    const { body } = await this.#test.call(method, at, { key: this.#key, ...(json === undefined ? {} : { json }) });
    return body;
  }
}

/** Return the number of a text that `runJob` has made. */
function numberOf(text: string): number {
  return Number(text.split(' ')[3]);
}
