import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import { artifactKey } from '../documents/documents.ts';
import type { Embedder } from '../embedding/embedder.ts';
import type { JobHandler } from '../jobs/handler.ts';
import { asJobError, JobError, type Lease, LeaseLost } from '../jobs/lease.ts';
import type { Job } from '../jobs/schema.ts';
import { AppError } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import type { DocumentImages } from '../recognition/document-images.ts';
import { lockIndexSpace } from '../search/index-store.ts';
import type { IndexWriter } from '../search/index-writer.ts';
import { ChunkBuffer } from './chunk-buffer.ts';
import { ChunkEmbedder, type EmbeddedChunks } from './chunk-embedder.ts';
import type { TextWindow } from './extract/blocks.ts';
import type { ChildPool } from './extract/child-pool.ts';
import { ExtractError, PicturesDoNotFit } from './extract/errors.ts';
import { type ExtractSummary, extractWindows } from './extract/extract-document.ts';
import type { ImageReading } from './extract/image-texts.ts';
import { recordExtraction, settleDocument } from './job-store.ts';
import { CHUNKS_MAX } from './prepare-chunks.ts';
import { pictureReading } from './read-pictures.ts';
import { activateGeneration, beginIngest, type IngestSource, type NewGeneration, registerGeneration } from './store.ts';
import { GenerationWriter } from './write-generation.ts';

export interface IngestContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly embedder: Embedder;
  readonly index: IndexWriter;
  readonly pictures: DocumentImages;
  /** Where documents are read that have a parser of their own. */
  readonly children: ChildPool;
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

  const { spool, ...extracted } = await extract(context, source, signal);
  await lease.advance('chunking');
  if (extracted.last !== null) await cut(spool, extracted.last, signal);
  if (spool.count === 0) throw noText(extracted, source);

  await lease.advance('embedding');
  const { generation, cost } = await write(context, lease, source, spool);

  signal.throwIfAborted();
  await sql.begin(async (tx) => {
    await lease.complete(tx, { chunksCount: spool.count, fileType: extracted.format, actualCost: cost });
    await recordExtraction(tx, job.orgId, job.id, extracted);
    if (!(await lockIndexSpace(tx, source.bucketId, generation.space))) throw indexMoved();
    const found = { fileType: extracted.format, pageCount: extracted.pages };
    if (!(await activateGeneration(tx, generation, found))) throw new LeaseLost(job.id);
  });
}

/** What is known of a document, its chunks, and its last window, which is most often its only one. */
type Extracted = ExtractSummary & { readonly spool: ChunkBuffer; readonly last: TextWindow | null };

async function extract(context: WorkContext, source: IngestSource, signal: AbortSignal): Promise<Extracted> {
  const pictures = pictureReading(context.pictures, source.options.ocr_strategy);
  try {
    return await extractOnce(context, source, pictures, signal);
  } catch (error) {
    if (!(error instanceof JobError) || !(error.cause instanceof PicturesDoNotFit)) throw error;
    // Most of its text is better than nothing of it.
    const withoutPictures = await extractOnce(context, source, null, signal);
    if (withoutPictures.last?.text) return withoutPictures;
    throw error;
  }
}

/** Windows are cut while the document is read, all but the last. */
async function extractOnce(
  context: WorkContext,
  source: IngestSource,
  pictures: ImageReading | null,
  signal: AbortSignal,
): Promise<Extracted> {
  const { chunk_size: chunkTokens, chunk_overlap: overlapTokens } = source.options;
  const spool = new ChunkBuffer(context.threads, { chunkTokens, overlapTokens });
  let last: TextWindow | null = null;
  const take = async (window: TextWindow) => {
    if (last !== null) await cut(spool, last, signal);
    last = window;
  };
  try {
    const summary = await extractWindows(
      {
        open: () => context.objects.stream(source.objectKey),
        sizeBytes: source.sizeBytes,
        fileName: source.fileName,
        contentType: source.contentType,
        signal,
        inTurn: context.inTurn,
        children: context.children,
        pictures,
        limits: { memoryBytesMax: context.limits.documentMemoryBytes, deadlineMs: context.limits.documentMs },
      },
      take,
    );
    return { ...summary, spool, last };
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

async function cut(spool: ChunkBuffer, window: TextWindow, signal: AbortSignal): Promise<void> {
  if (!(await spool.add(window, signal))) throw tooManyChunks();
}

/** Embeds and writes the chunks, a page at a time; the first page tells what the generation is made of. */
async function write(
  context: WorkContext,
  lease: Lease,
  source: IngestSource,
  spool: ChunkBuffer,
): Promise<{ generation: NewGeneration; cost: number }> {
  const { job, signal } = lease;
  const embedder = new ChunkEmbedder(context.embedder, source.orgId, {
    signal,
    checkSpace: (space) =>
      context.index.checkSpace(source.bucketId, space).catch((error: unknown) => {
        throw incomparable(error);
      }),
  });
  let generation: NewGeneration | null = null;
  let writer: GenerationWriter | null = null;
  let written = 0;
  try {
    for await (const page of spool.pages()) {
      const embedded = await embedder.embed(page.map((chunk) => chunk.embedText));
      if (generation === null || writer === null) {
        generation = generationOf(job, source, spool.count, embedded);
        if (!(await registerGeneration(context.sql, generation))) throw new LeaseLost(job.id);
        writer = new GenerationWriter(context, source, generation, signal);
      }
      written += page.length;
      const isLast = written === spool.count;
      if (isLast) await lease.advance('indexing');
      await writer.write(page, embedded, isLast).catch((error: unknown) => {
        throw incomparable(error);
      });
    }
  } catch (error) {
    await writer?.abandon(error);
    throw error;
  }
  if (generation === null) throw new Error('nothing to write');
  return { generation, cost: embedder.cost };
}

function generationOf(job: Job, source: IngestSource, chunksCount: number, embedded: EmbeddedChunks): NewGeneration {
  const { orgId, bucketId, documentId } = source;
  const id = job.generation as number;
  return {
    id,
    orgId,
    bucketId,
    documentId,
    jobId: job.id,
    artifactKey: artifactKey(orgId, documentId, id),
    chunksCount,
    embedModel: embedded.model,
    embedRevision: embedded.native?.revision ?? null,
    space: embedded.space,
    mapVersion: embedded.mapVersion,
    nativeDimension: embedded.native?.dimension ?? null,
    replaces: null,
  };
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

function noText({ format, failedPages }: ExtractSummary, source: IngestSource): JobError {
  const unread = failedPages.length === 0 ? '' : ` (${failedPages.length} of its pages could not be read)`;
  const message =
    format === 'pdf' && source.options.ocr_strategy === 'never'
      ? 'the PDF has no text layer, and ocr_strategy is never'
      : `the file has no text${unread}`;
  return new JobError({ category: 'unsupported_type', message, retryable: false });
}

/** Vectors of another space than the bucket's go nowhere: the job says what to run. */
function incomparable(error: unknown): unknown {
  const isKnown = error instanceof AppError && error.code === 'not_comparable';
  return asJobError(error, isKnown ? { category: 'not_comparable', retryable: true } : null);
}
