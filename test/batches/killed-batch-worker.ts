import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { chunkKey } from '../../src/batches/object-keys.ts';
import { CANARY_KEY, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { heldFrom } from '../support/held-from.ts';
import { createTestRandom } from '../support/random.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { batchOf } from '../support/stored-file.ts';
import { until } from '../support/until.ts';

/** Model of little work for the fake upstream, which runs in this process. */
const TINY = { id: 'vendor-a/tiny', vendor: 'vendor-a', dimensions: 16, max_tokens: 8_000 };
const STEP_MS_MAX = 120_000;
const HELD_MS = 3_600_000;
const CHUNK_TEXTS = 100;

/** Runner of batches whose only worker is a process that can be killed in the middle. */
export class KilledBatchWorker {
  readonly #test: TestGateway;
  readonly #key: string;
  readonly #random = createTestRandom('kill a worker of batches');
  /** Chunks that were already stored when one of their texts was sent. */
  readonly #sentAgain: string[] = [];
  #batchId = 'none';
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

  static async open(): Promise<KilledBatchWorker> {
    const test = await openTestGateway({ models: [TINY] }, { dimensions: { tiny: 16 } });
    const provider = { protocol: 'openai', base_url: test.upstream.baseUrl('openai'), api_key: CANARY_KEY };
    const settings = { providers: { 'vendor-a': provider }, models: [TINY] };
    writeFileSync(path.join(test.dataDir, 'service.yaml'), JSON.stringify(settings));
    const opened = new KilledBatchWorker(test, await test.key({ scopes: ['embed'] }));
    await opened.#start();
    return opened;
  }

  async close(): Promise<void> {
    await this.#worker?.end('SIGKILL');
    await this.#test.close();
  }

  /**
   * Run a batch of `count` requests, the last of which has broken JSON, while its worker is killed `kills` times.
   * @returns the lines of the output and of the error file, without the ids, which differ between batches
   */
  async run(count: number, kills: number): Promise<{ output: string; errors: string }> {
    const text = (at: number) => `text ${at}`;
    const share = count / (kills + 1);
    const plan = { count, kills, chunkTexts: CHUNK_TEXTS };
    this.#heldFrom = heldFrom(0, plan);
    const lines = Array.from({ length: count }, (_, at) => {
      const body = { model: TINY.id, input: text(at) };
      return JSON.stringify({ custom_id: `request ${at}`, method: 'POST', url: '/v1/embeddings', body });
    });
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob([[...lines, '{"custom_id": broken}'].join('\n')]), 'requests.jsonl');
    const { body: file } = await this.#test.call('POST', '/v1/files', { key: this.#key, body: form });
    const made = await this.#test.call('POST', '/v1/batches', { key: this.#key, json: batchOf(file.id) });
    this.#batchId = made.body.id;
    let from = 0;
    for (let kill = 0; kill < kills; kill++) {
      const atLeast = this.#random.int(share) + kill * share;
      const isDue = async () => {
        const done = (await this.#batch()).request_counts.completed;
        return done > from && done >= atLeast;
      };
      await until(isDue, { withinMs: STEP_MS_MAX, what: 'the progress to kill at' });
      await this.#worker?.end('SIGKILL');
      // Read before the next worker starts, which may at once do all that the upstream doesn't hold.
      from = (await this.#batch()).request_counts.completed;
      this.#heldFrom = heldFrom(kill + 1, plan);
      await this.#start();
    }
    await until(async () => (await this.#batch()).status === 'completed', { withinMs: STEP_MS_MAX, what: 'the end' });
    const batch = await this.#batch();
    expect(batch.request_counts).toEqual({ total: count + 1, completed: count, failed: 1 });
    return { output: await this.#content(batch.output_file_id), errors: await this.#content(batch.error_file_id) };
  }

  /** Expect that no stored chunk was embedded again, and that usage counts every text of `batches` batches once. */
  async expectNothingTwice(batches: number, texts: number): Promise<void> {
    expect(this.#sentAgain).toEqual([]);
    const { body } = await this.#test.call('GET', '/v1/usage/summary', { key: this.#key });
    expect(body.axes.embed_batch).toMatchObject({ requests: batches, texts });
  }

  async #start(): Promise<void> {
    const env = { DATABASE_URL: this.#test.databaseUrl, SERVICE_LOG_LEVEL: 'error' };
    this.#worker = await startServiceProcess(['worker', 'embed', '--data-dir', this.#test.dataDir], env);
  }

  /** @param first first text of a call, as made by `run` */
  #noteIfStored(first: string): void {
    const key = chunkKey(this.#test.operator.orgId, this.#batchId, numberOf(first) / CHUNK_TEXTS);
    const object = path.join(this.#test.dataDir, 'objects', key);
    if (existsSync(object)) this.#sentAgain.push(object);
  }

  async #batch() {
    return (await this.#test.call('GET', `/v1/batches/${this.#batchId}`, { key: this.#key })).body;
  }

  async #content(fileId: string): Promise<string> {
    const { body } = await this.#test.call('GET', `/v1/files/${fileId}/content`, { key: this.#key });
    return (body as string).replaceAll(this.#batchId.replace('batch_', ''), 'batch');
  }
}

/** Return the number of a text that `run` has made. */
function numberOf(text: string): number {
  return Number(text.split(' ')[1]);
}
