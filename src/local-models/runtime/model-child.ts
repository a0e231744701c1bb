/**
 * Main module of the process that holds a model (see protocol.ts). It loads the model, then computes batches until its
 * parent disconnects. A fault of the runtime ends at most this process.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { BatchQueue, type QueuedText } from './batch-queue.ts';
import { type EncodedText, TextEncoder } from './encode-texts.ts';
import { normalize, poolVectors, scoreLogits } from './pool-vectors.ts';
import type { ModelArgument, ModelReply, ModelRequest } from './protocol.ts';
import { Session, type TokenBatch } from './session.ts';

/** Results of a request so far. */
interface Results {
  readonly values: Float32Array;
  /** Number of texts, or parts of texts, still to be computed. */
  missing: number;
  /** Positions of multi-part texts, whose vectors are partial sums until all parts are computed. */
  readonly sums: ReadonlySet<number>;
}

type RunRequest = Extract<ModelRequest, { type: 'run' }>;

async function main(): Promise<void> {
  const argument = JSON.parse(process.argv[2] ?? '') as ModelArgument;
  process.on('disconnect', () => process.exit(0));
  // Ignore signals to the process group, since the parent may still need results while it shuts down.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  try {
    const model = await Model.load(argument);
    reply({ type: 'ready', dimension: model.dimension, residentBytes: process.memoryUsage.rss() });
    process.on('message', (request: ModelRequest) => model.receive(request));
  } catch (error) {
    reply({ type: 'unusable', reason: messageOf(error) });
  }
}

/** A loaded model, its tokenizer and its queue. */
class Model {
  readonly dimension: number;
  readonly #argument: ModelArgument;
  readonly #session: Session;
  readonly #encoder: TextEncoder;
  readonly #queue: BatchQueue;
  readonly #results = new Map<number, Results>();
  #isRunning = false;

  private constructor(argument: ModelArgument, session: Session, encoder: TextEncoder, dimension: number) {
    this.#argument = argument;
    this.#session = session;
    this.#encoder = encoder;
    this.#queue = new BatchQueue(argument.batchTokensMax);
    this.dimension = dimension;
  }

  /** @throws OrtError, or the error of reading the tokenizer */
  static async load(argument: ModelArgument): Promise<Model> {
    if (argument.sha256 !== null) await checkFile(argument.model, argument.sha256);
    const encoder = await TextEncoder.open(argument);
    const output =
      argument.kind === 'embedding' ? ['sentence_embedding', 'last_hidden_state', 'token_embeddings'] : ['logits'];
    const session = new Session({ ...argument, output });
    const probe = new Model(argument, session, encoder, 1);
    const { values, columns } = await probe.#compute([{ requestId: 0, index: 0, text: encoder.encode('a') }]);
    if (!values.every(Number.isFinite)) throw new Error('the model returns numbers that are not finite');
    return new Model(argument, session, encoder, columns);
  }

  receive(request: ModelRequest): void {
    if (request.type === 'cancel') {
      this.#queue.remove(request.id);
      this.#results.delete(request.id);
      return;
    }
    try {
      const texts = this.#encode(request);
      const parts = texts.flatMap((own, index) => own.map((text) => ({ index, text })));
      this.#results.set(request.id, {
        values: new Float32Array(texts.length * this.dimension),
        missing: parts.length,
        sums: new Set(texts.flatMap((own, index) => (own.length > 1 ? [index] : []))),
      });
      this.#queue.add(request.id, parts, request.isBackground);
      void this.#work();
    } catch (error) {
      this.#fail(request.id, error);
    }
  }

  /** Encode each text, in one part or several. */
  #encode({ query, texts }: RunRequest): EncodedText[][] {
    if (query !== null) return texts.map(this.#encoder.encodePairs(query)).map((text) => [text]);
    if (this.#argument.longTexts === 'mean') return texts.map((text) => this.#encoder.encodeParts(text));
    return texts.map((text) => [this.#encoder.encode(text)]);
  }

  async #work(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (!this.#queue.isEmpty) {
      const batch = this.#queue.take();
      try {
        const { values } = await this.#compute(batch);
        for (const [row, each] of batch.entries()) this.#store(each, values.subarray(row * this.dimension));
      } catch (error) {
        for (const { requestId } of batch) this.#fail(requestId, error);
      }
      if (!this.#queue.isEmpty) reply({ type: 'alive' });
      // Read requests that arrived meanwhile before choosing the next batch.
      await new Promise(setImmediate);
    }
    this.#isRunning = false;
  }

  async #compute(batch: readonly QueuedText[]): Promise<{ values: Float32Array; columns: number }> {
    const lengths = batch.map(({ text }) => text.ids.length);
    const output = await this.#session.run(toTokens(batch, this.#argument.padId));
    if (this.#argument.kind === 'reranker') return { values: scoreLogits(output), columns: 1 };
    const columns = output.shape.at(-1) as number;
    return { values: poolVectors(output, lengths, this.#argument.pooling), columns };
  }

  #store({ requestId, index, text }: QueuedText, row: Float32Array): void {
    const results = this.#results.get(requestId);
    if (results === undefined) return;
    const { values, sums } = results;
    const own = values.subarray(index * this.dimension, (index + 1) * this.dimension);
    const weight = sums.has(index) ? text.ids.length : 1;
    for (let axis = 0; axis < own.length; axis++) own[axis] = (own[axis] as number) + weight * (row[axis] as number);
    if (--results.missing > 0) return;
    for (const at of sums) normalize(values.subarray(at * this.dimension, (at + 1) * this.dimension));
    this.#results.delete(requestId);
    reply({ type: 'done', id: requestId, values: results.values, residentBytes: process.memoryUsage.rss() });
  }

  #fail(id: number, error: unknown): void {
    this.#queue.remove(id);
    if (this.#results.delete(id)) reply({ type: 'failed', id, reason: messageOf(error) });
  }
}

/** @throws Error if the file doesn't have this SHA-256 */
async function checkFile(file: string, sha256: string): Promise<void> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(file)) hash.update(part as Buffer);
  if (hash.digest('hex') !== sha256) throw new Error(`${file} is damaged`);
}

function toTokens(batch: readonly QueuedText[], padId: number): TokenBatch {
  const rows = batch.length;
  const length = Math.max(...batch.map(({ text }) => text.ids.length));
  const ids = numbers(rows * length).fill(BigInt(padId));
  const mask = numbers(rows * length);
  const types = numbers(rows * length);
  for (const [row, { text }] of batch.entries()) {
    for (const [at, id] of text.ids.entries()) {
      ids[row * length + at] = BigInt(id);
      mask[row * length + at] = 1n;
      if (at >= text.secondFrom) types[row * length + at] = 1n;
    }
  }
  return { rows, length, ids, mask, types };
}

/** Create an array outside the JavaScript heap, which doesn't move while the runtime reads it. */
function numbers(count: number): BigInt64Array<ArrayBuffer> {
  return new BigInt64Array(new ArrayBuffer(Math.max(64, count * 8)), 0, count);
}

function reply(message: ModelReply): void {
  process.send?.(message, undefined, {}, (error) => {
    if (error) process.exit(1);
  });
}

function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, 2000);
}

await main();
