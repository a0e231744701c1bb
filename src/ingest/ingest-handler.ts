import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import { artifactKey } from '../documents/documents.ts';
import { type EmbeddedTexts, type Embedder, embedForIndex } from '../embedding/embedder.ts';
import { JobError, type Lease, LeaseLost } from '../jobs/lease.ts';
import type { Job } from '../jobs/schema.ts';
import type { JobHandler } from '../jobs/worker.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import { INDEX_DIMENSIONS } from '../projection/resize.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { encodeArtifact } from './artifact.ts';
import { ExtractError } from './extract/errors.ts';
import { type ExtractedDocument, extractDocument } from './extract/extract-document.ts';
import { type PreparedChunk, prepareChunks } from './prepare-chunks.ts';
import {
  activateGeneration,
  beginIngest,
  type IngestSource,
  markIngestFailed,
  type NewGeneration,
  registerGeneration,
} from './store.ts';

/** Texts embedded in one call. */
const EMBED_BATCH_TEXTS = 64;

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
    onFailed: (tx: Sql, job: Job) => markIngestFailed(tx, job.orgId, job.documentId as string),
  };
}

interface WorkContext extends IngestContext {
  readonly inTurn: <T>(run: () => Promise<T>) => Promise<T>;
}

async function ingest(context: WorkContext, lease: Lease): Promise<void> {
  const { sql } = context;
  const { job, signal } = lease;
  const source = await beginIngest(sql, job.orgId, job.documentId as string);
  if (!source) throw new LeaseLost(job.id); // deleted meanwhile, which cancelled the job

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
  if (chunks.length === 0) throw noText(extracted);

  await lease.advance('embedding');
  const embedded = await embedChunks(context.embedder, chunks, signal);

  const generation: NewGeneration = {
    id: job.generation as number,
    orgId: source.orgId,
    bucketId: source.bucketId,
    documentId: source.documentId,
    jobId: job.id,
    artifactKey: artifactKey(source.orgId, source.documentId, job.generation as number),
    chunksCount: chunks.length,
    embedModel: embedded.model,
    space: embedded.space,
  };
  await registerGeneration(sql, generation);
  await lease.advance('indexing');
  await writeGeneration(context, source, generation, chunks, embedded.vectors);

  signal.throwIfAborted();
  await sql.begin(async (tx) => {
    await lease.complete(tx, { chunksCount: chunks.length, fileType: extracted.format, actualCost: 0 });
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

function noText(extracted: ExtractedDocument): JobError {
  const message =
    extracted.format === 'pdf'
      ? 'the PDF has no text layer (a scan?); reading text from images is not supported yet'
      : 'the file has no text';
  return new JobError({ category: 'unsupported_type', message, retryable: false });
}

async function embedChunks(
  embedder: Embedder,
  chunks: readonly PreparedChunk[],
  signal: AbortSignal,
): Promise<Pick<EmbeddedTexts, 'vectors' | 'model' | 'space'>> {
  const vectors = new Float32Array(chunks.length * INDEX_DIMENSIONS);
  let last: EmbeddedTexts | null = null;
  for (let start = 0; start < chunks.length; start += EMBED_BATCH_TEXTS) {
    signal.throwIfAborted();
    const texts = chunks.slice(start, start + EMBED_BATCH_TEXTS).map((chunk) => chunk.embedText);
    const batch: EmbeddedTexts = await embedForIndex(embedder, { texts, taskType: 'retrieval_document', signal });
    if (last && last.space !== batch.space) {
      throw new JobError({
        category: 'not_comparable',
        message: 'the model changed while the document was embedded; it will be tried again',
        retryable: true,
      });
    }
    vectors.set(batch.vectors, start * INDEX_DIMENSIONS);
    last = batch;
  }
  const { model, space } = last as EmbeddedTexts;
  return { vectors, model, space };
}

/** The artifact first: an index can be rebuilt from it, not the other way round. */
async function writeGeneration(
  context: IngestContext,
  source: IngestSource,
  generation: NewGeneration,
  chunks: readonly PreparedChunk[],
  vectors: Float32Array,
): Promise<void> {
  const ids = chunks.map((chunk) => `${source.documentId}_${generation.id}_${chunk.index}`);
  await context.objects.put(
    generation.artifactKey,
    encodeArtifact({
      documentId: source.documentId,
      generation: generation.id,
      model: generation.embedModel,
      space: generation.space,
      dimensions: INDEX_DIMENSIONS,
      chunks: chunks.map((chunk, i) => ({
        id: ids[i] as string,
        index: chunk.index,
        text: chunk.text,
        token_count: chunk.tokenCount,
        locator: chunk.locator,
      })),
      vectors,
    }),
  );
  try {
    await context.index.append(
      source.bucketId,
      {
        vectors,
        chunks: chunks.map((chunk, i) => ({
          chunkId: ids[i] as string,
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
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'not_comparable') throw error;
    throw new JobError({ category: 'not_comparable', message: error.message, retryable: true }, error);
  }
}
