import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import { artifactKey } from '../documents/documents.ts';
import type { Embedder } from '../embedding/embedder.ts';
import { JobError, type Lease, LeaseLost } from '../jobs/lease.ts';
import type { Job } from '../jobs/schema.ts';
import type { JobHandler } from '../jobs/worker.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import { findKnownGenerations, holdIndexSpace } from '../search/index-store.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { type ChunkArtifact, encodeInTurn } from './artifact.ts';
import { type EmbeddedChunks, embedChunks } from './embed-chunks.ts';
import { ExtractError } from './extract/errors.ts';
import { type ExtractedDocument, extractDocument } from './extract/extract-document.ts';
import { settleDocument } from './job-store.ts';
import { CHUNKS_MAX, type PreparedChunk, prepareChunks } from './prepare-chunks.ts';
import { activateGeneration, beginIngest, type IngestSource, type NewGeneration, registerGeneration } from './store.ts';

/** Chunks handed to the index at once. */
const APPEND_CHUNKS = 1_000;

export interface IngestContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly embedder: Embedder;
  readonly index: IndexWriter;
  readonly limits: { readonly documentMemoryBytes: number; readonly documentMs: number };
}

/**
 * The ingest job: extract -> chunk -> embed -> index. Nothing of it is found before the one transaction that
 * finishes the job and makes its generation the document's active one.
 */
export function ingestHandler(context: IngestContext): JobHandler {
  // Each child may use a whole core and its full memory cap.
  const inTurn = pLimit(Math.max(1, availableParallelism()));
  return {
    kind: 'ingest',
    firstPhase: 'extracting',
    run: (lease) => ingest({ ...context, inTurn }, lease),
    onFailed: (tx: Sql, job: Job) => settleDocument(tx, job.orgId, job.documentId as string),
  };
}

interface WorkContext extends IngestContext {
  readonly inTurn: <T>(run: () => Promise<T>) => Promise<T>;
}

async function ingest(context: WorkContext, lease: Lease): Promise<void> {
  const { sql } = context;
  const { job, signal } = lease;
  const source = await beginIngest(sql, job.orgId, job.documentId as string, lease.held);
  if (!source) {
    await lease.advance('extracting'); // or the job was lost
    throw new JobError({ category: 'storage', message: 'the document was deleted', retryable: false });
  }

  const extracted = await extract(context, source, signal);
  await lease.advance('chunking');
  const chunks = await prepareChunks(
    context.threads,
    {
      text: extracted.text,
      blocks: extracted.blocks,
      chunkTokens: source.options.chunk_size,
      overlapTokens: source.options.chunk_overlap,
    },
    signal,
  );
  if (chunks === null) throw tooManyChunks();
  if (chunks.length === 0) throw noText(extracted);

  await lease.advance('embedding');
  const texts = chunks.map((chunk) => chunk.embedText);
  const embedded = await embedChunks(context.embedder, source.orgId, texts, {
    signal,
    checkSpace: (space) =>
      context.index.checkSpace(source.bucketId, space).catch((error: unknown) => {
        throw asJobError(error);
      }),
  });

  const generation: NewGeneration = {
    id: job.generation as number,
    orgId: source.orgId,
    bucketId: source.bucketId,
    documentId: source.documentId,
    jobId: job.id,
    artifactKey: artifactKey(source.orgId, source.documentId, job.generation as number),
    chunksCount: chunks.length,
    embedModel: embedded.model,
    embedRevision: embedded.native?.revision ?? null,
    space: embedded.space,
    mapVersion: embedded.mapVersion,
    nativeDimension: embedded.native?.dimension ?? null,
    replaces: null,
  };
  if (!(await registerGeneration(sql, generation))) throw new LeaseLost(job.id);
  await lease.advance('indexing');
  await writeGeneration(context, source, generation, chunks, embedded, signal);

  signal.throwIfAborted();
  await sql.begin(async (tx) => {
    await lease.complete(tx, { chunksCount: chunks.length, fileType: extracted.format, actualCost: embedded.cost });
    if (!(await holdIndexSpace(tx, source.bucketId, generation.space))) throw indexMoved();
    const found = { fileType: extracted.format, pageCount: extracted.pages };
    if (!(await activateGeneration(tx, generation, found))) throw new LeaseLost(job.id);
  });
}

async function extract(context: WorkContext, source: IngestSource, signal: AbortSignal): Promise<ExtractedDocument> {
  try {
    return await extractDocument({
      open: () => context.objects.stream(source.objectKey),
      sizeBytes: source.sizeBytes,
      fileName: source.fileName,
      contentType: source.contentType,
      signal,
      inTurn: context.inTurn,
      limits: { memoryBytesMax: context.limits.documentMemoryBytes, deadlineMs: context.limits.documentMs },
    });
  } catch (error) {
    if (error instanceof ExtractError) {
      const { category, message, retryable } = error;
      throw new JobError({ category, message, retryable }, error);
    }
    if (error instanceof AppError && error.code === 'object_not_found') {
      throw new JobError(
        { category: 'storage', message: 'the stored file is missing; upload the document again', retryable: false },
        error,
      );
    }
    throw error;
  }
}

/** Its rows are in a table, or beside vectors, that no search compares with them any more. */
function indexMoved(): JobError {
  const message = "the bucket's index moved to another latent space meanwhile; it will be tried again";
  return new JobError({ category: 'not_comparable', message, retryable: true });
}

function tooManyChunks(): JobError {
  const message = `the document makes more than ${CHUNKS_MAX} chunks; split it, or ask for a larger chunk_size`;
  return new JobError({ category: 'too_large', message, retryable: false });
}

function noText(extracted: ExtractedDocument): JobError {
  const message =
    extracted.format === 'pdf'
      ? 'the PDF has no text layer (a scan?); reading text from images is not supported yet'
      : 'the file has no text';
  return new JobError({ category: 'unsupported_type', message, retryable: false });
}

/** Vectors of another space than the bucket's go nowhere: the job says what to run. */
function asJobError(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== 'not_comparable') return error;
  return new JobError({ category: 'not_comparable', message: error.message, retryable: true }, error);
}

/** The artifact first: an index can be rebuilt from it, not the other way round. */
async function writeGeneration(
  context: IngestContext,
  source: IngestSource,
  generation: NewGeneration,
  chunks: readonly PreparedChunk[],
  { vectors, native }: EmbeddedChunks,
  signal: AbortSignal,
): Promise<void> {
  const idOf = (chunk: PreparedChunk) => `${source.documentId}_${generation.id}_${chunk.index}`;
  const artifact: ChunkArtifact = {
    documentId: source.documentId,
    generation: generation.id,
    model: generation.embedModel,
    space: generation.space,
    mapVersion: generation.mapVersion,
    dimensions: INDEX_DIMENSIONS,
    chunks: chunks.map((chunk) => ({
      id: idOf(chunk),
      index: chunk.index,
      text: chunk.text,
      token_count: chunk.tokenCount,
      locator: chunk.locator,
    })),
    vectors,
    native,
  };
  await context.objects.put(generation.artifactKey, await encodeInTurn(context.threads, artifact, signal));
  try {
    // In slices: chunks of one generation may come in several commits, since none is found before it is active.
    for (let start = 0; start < chunks.length; start += APPEND_CHUNKS) {
      signal.throwIfAborted();
      const slice = chunks.slice(start, start + APPEND_CHUNKS);
      await context.index.append(
        source.bucketId,
        {
          vectors: vectors.subarray(start * INDEX_DIMENSIONS, (start + slice.length) * INDEX_DIMENSIONS),
          chunks: slice.map((chunk) => ({
            chunkId: idOf(chunk),
            documentId: source.documentId,
            generation: generation.id,
            collectionId: source.collectionId,
            chunkIndex: chunk.index,
            text: chunk.text,
            tokens: chunk.tokens,
            locator: chunk.locator,
            modality: 'text',
            privacyLevel: source.privacyLevel,
            eventTimeMs: source.eventTimeMs,
          })),
        },
        generation.space,
      );
    }
  } catch (error) {
    // A generation whose job was lost may have been swept already, before its artifact was there.
    const isSwept = signal.aborted && !(await findKnownGenerations(context.sql, [generation.id])).has(generation.id);
    if (isSwept || (error instanceof AppError && error.code === 'generation_gone')) {
      await context.objects.delete(generation.artifactKey);
      throw new LeaseLost(source.documentId);
    }
    throw asJobError(error);
  }
}
