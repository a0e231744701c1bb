import { type Embedder, embedForIndex } from '../../embedding/embedder.ts';
import type { VectorOrigin } from '../../embedding/model-choice.ts';
import { type AppError, tryLater } from '../../platform/errors.ts';
import { freeMemory } from '../../platform/free-memory.ts';
import { INDEX_DIMENSIONS, resizeVectors } from '../../projection/resize.ts';
import type { NativeChunkVectors } from '../artifact.ts';
import { toHalves, unitRowsOf } from '../half-floats.ts';
import { embedTextOf } from '../prepare-chunks.ts';
import type { ReindexPlan } from './plan.ts';
import { RequestWindow } from './request-window.ts';
import type { Work } from './work.ts';

/** Rows per projection: 24 MB of native vectors of 3,072 dimensions. */
const PROJECT_ROWS = 2_048;
/** Texts per request, from any number of documents. The provider's batching splits or merges requests as needed. */
const EMBED_TEXTS = 128;

interface Slice {
  readonly work: Work;
  /** Position of the document in its group. */
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

/** Maker of documents' new vectors: kept, projected from native ones, or embedded. */
export class VectorMaker {
  readonly #plan: ReindexPlan;
  readonly #embedder: Embedder;
  readonly #orgId: string;
  readonly #onWork: (chunks: number) => void;
  readonly #window = new RequestWindow();
  #cost = 0;

  /** @param onWork called with the number of new vectors after each request or matrix product */
  constructor(plan: ReindexPlan, embedder: Embedder, orgId: string, onWork: (chunks: number) => void = () => {}) {
    this.#plan = plan;
    this.#embedder = embedder;
    this.#orgId = orgId;
    this.#onWork = onWork;
  }

  /** Cost of the texts embedded so far, in the currency of the operator's prices. */
  get cost(): number {
    return this.#cost;
  }

  /** Replace the vectors of these documents. @throws AppError of the provider; the reason of the signal */
  async make(works: readonly Work[], signal: AbortSignal): Promise<void> {
    const projected = works.filter(({ source }) => source === 'project');
    for (const [model, own] of Map.groupBy(projected, ({ document }) => document.model)) {
      await this.#project(model, own, signal);
    }
    const embedded = works.filter(({ source }) => source === 'embed');
    // The alias chooses a model per document, since all vectors of a document must have the same model.
    const groups = this.#plan.embedder?.kind === 'alias' ? embedded.map((work) => [work]) : [embedded];
    for (const group of groups) await this.#embed(group, signal);
  }

  get #origin(): VectorOrigin {
    const { origin } = this.#plan;
    if (origin === null) throw new Error('no space for new vectors');
    return origin;
  }

  /** Project documents. Many small documents share a matrix product; a large one takes several. */
  async #project(model: string, works: readonly Work[], signal: AbortSignal): Promise<void> {
    const map = this.#plan.mapOf(model);
    const origin = this.#origin;
    const k = works[0]?.artifact.native?.dimension ?? 0;
    const targets = works.map(({ artifact }) => new Float32Array(artifact.chunks.length * INDEX_DIMENSIONS));
    for (const slices of slicesOf(works, PROJECT_ROWS)) {
      const halves = joinHalves(slices, k);
      const rows = unitRowsOf(halves, k);
      const vectors = map
        ? await map.project(rows, INDEX_DIMENSIONS, signal)
        : resizeVectors(rows, k, INDEX_DIMENSIONS);
      spread(vectors, slices, targets);
      this.#onWork(rows.length / k);
    }
    for (const [at, work] of works.entries()) {
      const vectors = targets[at] as Float32Array;
      work.artifact = { ...work.artifact, vectors, space: origin.space, mapVersion: map?.version ?? null };
    }
  }

  /** Send the texts of documents in concurrent requests. If one fails, wait until the others have ended. */
  async #embed(works: readonly Work[], signal: AbortSignal): Promise<void> {
    const { embedder } = this.#plan;
    if (works.length === 0) return;
    if (embedder === null) throw new Error('no model to embed with');
    const origin = this.#origin;
    const made: Embedded = {
      targets: works.map(({ artifact }) => new Float32Array(artifact.chunks.length * INDEX_DIMENSIONS)),
      natives: works.map(() => null),
      facts: null,
    };
    const requests = [...slicesOf(works, EMBED_TEXTS)];
    if (embedder.kind === 'alias') {
      // The model that the alias chooses for the first texts also embeds the rest.
      for (const slices of requests) await this.#request(slices, made, signal);
    } else {
      const failure = new AbortController();
      const either = AbortSignal.any([signal, failure.signal]);
      await Promise.all(
        requests.map((slices) =>
          this.#request(slices, made, either).catch((error: unknown) => {
            failure.abort(error);
          }),
        ),
      );
      either.throwIfAborted();
    }
    const { targets, natives, facts } = made;
    if (facts === null) return;
    for (const [at, work] of works.entries()) {
      work.artifact = {
        ...work.artifact,
        vectors: targets[at] as Float32Array,
        native: natives[at] ?? null,
        model: facts.model,
        space: origin.space,
        mapVersion: facts.mapVersion,
      };
    }
  }

  async #request(slices: readonly Slice[], made: Embedded, signal: AbortSignal): Promise<void> {
    const answer = await this.#window.run(async () => {
      signal.throwIfAborted();
      return embedForIndex(this.#embedder, {
        texts: slices.flatMap(({ work, from, to }) =>
          work.artifact.chunks.slice(from, to).map((chunk) => embedTextOf(chunk)),
        ),
        model: made.facts?.model ?? this.#plan.embedder?.id,
        exactly: true,
        comparableWith: this.#origin,
        keepNative: true,
        isBulk: true,
        isForJob: true,
        takesVendorTokens: true,
        taskType: 'retrieval_document',
        orgId: this.#orgId,
        charge: { account: { orgId: this.#orgId }, axis: 'embed_batch', internal: true },
        signal,
      });
    });
    this.#cost += answer.cost;
    this.#onWork(answer.vectors.length / INDEX_DIMENSIONS);
    made.facts ??= { model: answer.model, mapVersion: answer.mapVersion };
    if (made.facts.mapVersion !== answer.mapVersion) throw mapChanged(answer.model);
    spread(answer.vectors, slices, made.targets);
    if (answer.native) keepNatives(answer.native, slices, made.natives);
    freeMemory(answer.vectors);
    if (answer.native) freeMemory(answer.native.vectors);
  }
}

/** New vectors of documents, by position. */
interface Embedded {
  readonly targets: readonly Float32Array[];
  readonly natives: (NativeChunkVectors | null)[];
  /** Properties of the first response. */
  facts: { readonly model: string; readonly mapVersion: number | null } | null;
}

/** Divide the chunks of documents into slices of at most `rowsMax` rows in total. */
function* slicesOf(works: readonly Work[], rowsMax: number): Generator<Slice[]> {
  let slices: Slice[] = [];
  let rows = 0;
  for (const [at, work] of works.entries()) {
    const count = work.artifact.chunks.length;
    for (let from = 0; from < count; ) {
      const to = Math.min(count, from + rowsMax - rows);
      slices.push({ work, at, from, to });
      rows += to - from;
      from = to;
      if (rows < rowsMax) continue;
      yield slices;
      slices = [];
      rows = 0;
    }
  }
  if (rows > 0) yield slices;
}

function joinHalves(slices: readonly Slice[], k: number): Uint16Array {
  const halves = new Uint16Array(slices.reduce((rows, { from, to }) => rows + to - from, 0) * k);
  let row = 0;
  for (const { work, from, to } of slices) {
    const { native } = work.artifact;
    if (native === null) throw new Error('no native vectors');
    halves.set(native.vectors.subarray(from * k, to * k), row * k);
    row += to - from;
  }
  return halves;
}

/** Copy the rows of a response to their documents. */
function spread(vectors: Float32Array, slices: readonly Slice[], targets: readonly Float32Array[]): void {
  let row = 0;
  for (const { at, from, to } of slices) {
    const own = vectors.subarray(row * INDEX_DIMENSIONS, (row + to - from) * INDEX_DIMENSIONS);
    (targets[at] as Float32Array).set(own, from * INDEX_DIMENSIONS);
    row += to - from;
  }
}

function keepNatives(
  { vectors, dimension, revision }: { vectors: Float32Array; dimension: number; revision: string },
  slices: readonly Slice[],
  natives: (NativeChunkVectors | null)[],
): void {
  const halves = toHalves(vectors);
  let row = 0;
  for (const { work, at, from, to } of slices) {
    const own = natives[at] ?? {
      dimension,
      revision,
      vectors: new Uint16Array(work.artifact.chunks.length * dimension),
    };
    natives[at] = own;
    own.vectors.set(halves.subarray(row * dimension, (row + to - from) * dimension), from * dimension);
    row += to - from;
  }
  freeMemory(halves);
}

function mapChanged(model: string): AppError {
  return tryLater(`the map of ${model} changed while documents were embedded; try again`, 'projection_unusable', {
    retryAfterSeconds: 1,
  });
}
