import { setImmediate } from 'node:timers/promises';
import type { Caller } from '../../access/caller.ts';
import { graphemeCut } from '../../language/graphemes.ts';
import { AppError, conflict } from '../../platform/errors.ts';
import type { Objects } from '../../platform/objects/objects.ts';
import type { Sql } from '../../platform/postgres.ts';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { readArtifactParts } from '../artifact-store.ts';
import { embedTextOf, shownTextOf } from '../prepare-chunks.ts';
import { chooseDocuments, countWithoutText, type SampledDocument } from './sample-store.ts';

/** Maximum number of sampled chunks per judged document. */
const OF_JUDGED_MAX = 50;
/** Stored chunks to read per sampled chunk, so that even a sample of long documents covers several. */
const READ_FACTOR = 10;
const SHOWN_CHARS = 240;

export interface SampledChunk {
  readonly id: string;
  readonly documentId: string;
  readonly fileName: string;
  /** Text that the model embeds. */
  readonly embedText: string;
  /** Start of the text shown in results. */
  readonly shown: string;
  /** Vector of the current model: Float32Array [INDEX_DIMENSIONS], of unit length. */
  readonly vector: Float32Array;
}

export interface Sample {
  readonly chunks: readonly SampledChunk[];
  readonly documents: number;
  readonly warnings: readonly string[];
}

export interface SampleRequest {
  readonly bucketId: string;
  /** Latent space of the current vectors. */
  readonly space: string;
  readonly size: number;
  /** Chunks that searches currently find, most important first, with their documents. They are sampled first. */
  readonly found: ReadonlyMap<string, string>;
  /** Ids or file names of the judged documents, whose chunks are sampled next. */
  readonly judged: ReadonlySet<string>;
}

/**
 * Sample the chunks that the caller may see: those that searches currently find, chunks of the judged documents, and
 * others, evenly spread. Write nothing.
 *
 * @throws AppError `index_empty` (409); the errors of the storage
 */
export async function takeSample(
  { sql, objects }: { readonly sql: Sql; readonly objects: Objects },
  caller: Caller,
  request: SampleRequest,
  signal: AbortSignal,
): Promise<Sample> {
  const { size } = request;
  const found = new Map([...request.found].slice(0, size));
  const documents = await chooseDocuments(sql, caller, request, {
    ids: [...new Set(found.values())],
    names: [...request.judged],
    chunksMax: size * READ_FACTOR,
  });
  const all = documents.reduce((sum, { chunks }) => sum + chunks, 0);
  const picked = new Picked({ found, judged: request.judged, size, share: Math.min(1, size / all) });
  let damaged = 0;
  for (const document of documents) {
    if (!(await readInto(objects, document, picked, signal))) damaged++;
  }
  const withoutText = await countWithoutText(sql, caller, request);
  const chunks = picked.chunks();
  if (chunks.length === 0) {
    throw conflict('the bucket has no chunks with vectors that can be read; upload documents first', 'index_empty');
  }
  return {
    chunks,
    documents: new Set(chunks.map(({ documentId }) => documentId)).size,
    warnings: [
      ...(picked.found < request.found.size
        ? ['the sample is too small for all chunks that searches find now; take a larger one, or fewer queries']
        : []),
      ...(withoutText > 0
        ? [`${withoutText} documents have vectors without text, which no model can embed; they were left out`]
        : []),
      ...(damaged > 0 ? [`the stored chunks of ${damaged} documents cannot be read; they were left out`] : []),
    ],
  };
}

/** Pick chunks of a document. Return false if its stored chunks are lost or damaged. */
async function readInto(
  objects: Objects,
  document: SampledDocument,
  picked: Picked,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    for await (const { chunks, vectors, dimensions } of readArtifactParts(objects, document.artifactKey, { signal })) {
      if (dimensions !== INDEX_DIMENSIONS) return false;
      for (const [row, chunk] of chunks.entries()) {
        picked.offer(document, chunk.id, chunk.index, () => ({
          id: chunk.id,
          documentId: document.id,
          fileName: document.fileName,
          embedText: embedTextOf(chunk),
          shown: startOf(shownTextOf(chunk)),
          vector: vectors.slice(row * dimensions, (row + 1) * dimensions),
        }));
      }
      await setImmediate();
      signal.throwIfAborted();
    }
    return true;
  } catch (error) {
    if (error instanceof AppError && !error.retryable) return false;
    throw error;
  }
}

function startOf(text: string): string {
  return text.slice(0, graphemeCut(text, SHOWN_CHARS));
}

interface PickOptions extends Pick<SampleRequest, 'found' | 'judged' | 'size'> {
  /** Share of the other chunks to take, 0..1. */
  readonly share: number;
}

/** Picked chunks, by importance. */
class Picked {
  readonly #options: PickOptions;
  readonly #found: SampledChunk[] = [];
  readonly #judged: SampledChunk[] = [];
  readonly #others: SampledChunk[] = [];
  #seen = 0;

  constructor(options: PickOptions) {
    this.#options = options;
  }

  /** Number of picked chunks that searches currently find. */
  get found(): number {
    return this.#found.length;
  }

  /** @param make called if the chunk is picked */
  offer({ id, fileName, chunks }: SampledDocument, chunkId: string, index: number, make: () => SampledChunk): void {
    const { found, judged, size, share } = this.#options;
    const isJudged = judged.has(id) || judged.has(fileName);
    if (found.has(chunkId)) this.#found.push(make());
    else if (isJudged && index % Math.ceil(chunks / OF_JUDGED_MAX) === 0 && this.#judged.length < size) {
      this.#judged.push(make());
    } else {
      const taken = Math.floor(this.#seen * share);
      this.#seen++;
      if (Math.floor(this.#seen * share) > taken) this.#others.push(make());
    }
  }

  chunks(): SampledChunk[] {
    return [...this.#found, ...this.#judged, ...this.#others].slice(0, this.#options.size);
  }
}
