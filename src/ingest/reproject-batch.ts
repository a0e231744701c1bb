import pLimit from 'p-limit';
import { artifactKey } from '../documents/documents.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import type { ActiveMap } from '../projection/projections.ts';
import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { type ChunkArtifact, encodeOnThread, type NativeChunkVectors } from './artifact.ts';
import { readArtifact } from './artifact-store.ts';
import { unitRowsOf } from './half-floats.ts';
import { analyseArtifacts, rowsOf } from './index-rows.ts';
import { isActive, nextGenerations, type PendingDocument, type RunScope } from './reproject-store.ts';
import { registerGeneration } from './store.ts';

/** Rows projected at once; with 3,072 dimensions they are 24 MB of native vectors. */
const PROJECT_ROWS = 2_048;
/** Chunks appended to the index at once. */
const APPEND_CHUNKS = 1_000;
const OBJECT_CALLS_MAX = 8;

export interface BatchContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly index: IndexWriter;
  readonly mapOf: (model: string) => ActiveMap;
  readonly signal: AbortSignal;
}

/** Document that could not be reprojected, with the error. */
export interface Failure {
  readonly documentId: string;
  readonly error: unknown;
}

/** Generation that is written to the index and to object storage. */
export interface WrittenGeneration {
  readonly id: number;
  readonly documentId: string;
  readonly chunks: number;
}

export interface BatchResult {
  readonly written: readonly WrittenGeneration[];
  readonly failures: readonly Failure[];
}

/** Document with the data of its new generation. */
interface Work {
  readonly document: PendingDocument;
  readonly generation: number;
  readonly artifact: ChunkArtifact & { readonly native: NativeChunkVectors };
  /** New vectors: Float32Array [chunks x INDEX_DIMENSIONS]. */
  readonly vectors: Float32Array;
}

/**
 * Reproject the chunks of some documents from their stored native vectors, and write them as generations that no search
 * finds yet. A document that is deleted or ingested again in the meantime is left out.
 *
 * @throws AppError of the index and the storage; the signal's reason
 */
export async function writeBatch(
  context: BatchContext,
  scope: RunScope,
  documents: readonly PendingDocument[],
): Promise<BatchResult> {
  const { works, failures } = await readWorks(context, documents);
  for (const [model, own] of Map.groupBy(works, ({ document }) => document.model)) {
    await projectWorks(context, context.mapOf(model), own);
  }
  const { threads, signal } = context;
  const tokens = await analyseArtifacts(
    threads,
    works.map(({ artifact }) => artifact),
    signal,
  );
  const limit = pLimit(OBJECT_CALLS_MAX);
  const written = await awaitAll(
    works.map(async (work, at) => {
      const isStored = await limit(() => storeWork(context, scope, work));
      if (!isStored || !(await appendWork(context, scope, work, tokens[at] as string[]))) return null;
      return { id: work.generation, documentId: work.document.id, chunks: work.artifact.chunks.length };
    }),
  );
  return { written: written.filter((generation) => generation !== null), failures };
}

async function readWorks(
  { sql, objects, signal }: BatchContext,
  documents: readonly PendingDocument[],
): Promise<{ works: Work[]; failures: Failure[] }> {
  const ids = await nextGenerations(sql, documents.length);
  const failures: Failure[] = [];
  const read = async (document: PendingDocument, at: number): Promise<Work | null> => {
    signal.throwIfAborted();
    try {
      const artifact = await readArtifact(objects, document.artifactKey);
      const { native } = artifact;
      if (native === null) throw noNative();
      const vectors = new Float32Array(artifact.chunks.length * INDEX_DIMENSIONS);
      return { document, generation: ids[at] as number, artifact: { ...artifact, native }, vectors };
    } catch (error) {
      if (!(error instanceof AppError) || error.retryable) throw error;
      // The artifact is deleted together with its document.
      if (await isActive(sql, document.id, document.generation)) failures.push({ documentId: document.id, error });
      return null;
    }
  };
  const limit = pLimit(OBJECT_CALLS_MAX);
  const works = await awaitAll(documents.map((document, at) => limit(() => read(document, at))));
  return { works: works.filter((work) => work !== null), failures };
}

/** Compute the new vectors: those of many small documents in one matrix product, those of a large one in several. */
async function projectWorks({ signal }: BatchContext, map: ActiveMap, works: readonly Work[]): Promise<void> {
  const k = works[0]?.artifact.native.dimension ?? 0;
  let parts: { work: Work; from: number; to: number }[] = [];
  let rows = 0;
  const flush = async () => {
    if (rows === 0) return;
    const halves = new Uint16Array(rows * k);
    let row = 0;
    for (const { work, from, to } of parts) {
      halves.set(work.artifact.native.vectors.subarray(from * k, to * k), row * k);
      row += to - from;
    }
    const projected = await map.project(unitRowsOf(halves, k), INDEX_DIMENSIONS, signal);
    row = 0;
    for (const { work, from, to } of parts) {
      const own = projected.subarray(row * INDEX_DIMENSIONS, (row + to - from) * INDEX_DIMENSIONS);
      work.vectors.set(own, from * INDEX_DIMENSIONS);
      row += to - from;
    }
    parts = [];
    rows = 0;
  };
  for (const work of works) {
    const count = work.artifact.chunks.length;
    for (let from = 0; from < count; ) {
      const to = Math.min(count, from + PROJECT_ROWS - rows);
      parts.push({ work, from, to });
      rows += to - from;
      from = to;
      if (rows === PROJECT_ROWS) await flush();
    }
  }
  await flush();
}

/**
 * Store an artifact. Its generation is registered first, so that remains of a crash are swept. False if the document
 * was deleted.
 */
async function storeWork(context: BatchContext, scope: RunScope, work: Work): Promise<boolean> {
  const { document, generation, artifact } = work;
  const { native, model } = artifact;
  const key = artifactKey(scope.orgId, document.id, generation);
  const mapVersion = context.mapOf(document.model).version;
  const isKnown = await registerGeneration(context.sql, {
    ...{ id: generation, orgId: scope.orgId, bucketId: scope.bucketId, documentId: document.id, jobId: scope.runId },
    ...{ artifactKey: key, chunksCount: artifact.chunks.length, embedModel: model, embedRevision: native.revision },
    ...{ space: scope.space, mapVersion, nativeDimension: native.dimension, replaces: document.generation },
  });
  if (!isKnown) return false;
  const updated: ChunkArtifact = {
    ...artifact,
    ...{ generation, space: scope.space, mapVersion, vectors: work.vectors },
    chunks: artifact.chunks.map((chunk) => ({ ...chunk, id: idOf(work, chunk.index) })),
  };
  await context.objects.put(key, await encodeOnThread(context.threads, updated, context.signal));
  return true;
}

/**
 * Append the rows of a generation to the index; false if the document was deleted or ingested again in the meantime.
 */
async function appendWork(
  context: BatchContext,
  scope: RunScope,
  work: Work,
  tokens: readonly string[],
): Promise<boolean> {
  const { document, generation, artifact, vectors } = work;
  const { chunks } = artifact;
  const { id: documentId, collectionId, privacyLevel, eventTimeMs } = document;
  const source = { documentId, generation, collectionId, privacyLevel, eventTimeMs, chunks, tokens, vectors };
  try {
    for (const rows of rowsOf({ ...source, dimensions: INDEX_DIMENSIONS }, APPEND_CHUNKS)) {
      context.signal.throwIfAborted();
      const reprojection = scope.moves ? scope.runId : null;
      await context.index.append(scope.bucketId, rows, scope.space, { reprojection });
    }
    return true;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'generation_gone') throw error;
    await context.objects.delete(artifactKey(scope.orgId, document.id, generation));
    return false;
  }
}

/**
 * Await all promises like `Promise.all`, but fail only after every one has settled, so that no work continues in the
 * background.
 */
async function awaitAll<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

function idOf({ document, generation }: Work, index: number): string {
  return `${document.id}_${generation}_${index}`;
}

function noNative(): AppError {
  return new AppError({
    code: 'no_native_vectors',
    status: 409,
    message: 'the chunk artifact of the document has no native vectors; reprocess the document',
  });
}
