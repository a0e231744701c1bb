import { availableParallelism } from 'node:os';
import pLimit from 'p-limit';
import type { Embedder } from '../embedding/embedder.ts';
import type { VectorOrigin } from '../embedding/model-choice.ts';
import { nameOfTable } from '../index/index-store.ts';
import type { IndexWriter } from '../index/writing/index-writer.ts';
import { cancelJobs } from '../jobs/document-jobs-store.ts';
import type { JobHandler } from '../jobs/handler.ts';
import { JobError, type Lease, LeaseLost, RECORDED_AFTER_MS } from '../jobs/lease.ts';
import type { Model } from '../models/catalog.ts';
import { AppError, tryLater } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { Threads } from '../platform/threads.ts';
import { traced } from '../platform/tracing.ts';
import type { Projections } from '../projection/projections.ts';
import type { DocumentImages } from '../recognition/document-images.ts';
import { ChunkBuffer } from './chunk-buffer.ts';
import { ChunkEmbedder, type EmbeddedChunks } from './chunk-embedder.ts';
import type { TextWindow } from './extract/blocks.ts';
import type { ChildPool } from './extract/child-pool.ts';
import { ExtractError, PicturesDoNotFit } from './extract/errors.ts';
import { type ExtractSummary, extractWindows } from './extract/extract-document.ts';
import type { ImageReading } from './extract/image-texts.ts';
import { generationOf } from './generation-of-job.ts';
import type { NewGeneration } from './generation-store.ts';
import { type IngestStatements, ingestStatements } from './ingest-statements.ts';
import { keepsText } from './job-operations.ts';
import { type ExtractionRecord, extractionSnapshot, settleDocument } from './job-store.ts';
import { activateWithoutVectors, type Outage, outageOf, withoutVectors } from './keyword-only.ts';
import { CHUNKS_MAX, type PreparedChunk } from './prepare-chunks.ts';
import { pictureReading } from './read-pictures.ts';
import { restoreGeneration } from './restore-generation.ts';
import { type ClaimedIngest, type IngestSource, markProcessing } from './source-store.ts';
import { lockHeldJob } from './store.ts';
import { findStoredVectors } from './stored-vectors.ts';
import { ingestVector, isVectorDocument } from './vectors/ingest-vector.ts';
import { VECTOR_FORMAT } from './vectors/vector-document.ts';
import { GenerationWriter } from './write-generation.ts';

export interface IngestContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly embedder: Embedder;
  readonly projections: Projections;
  /** Find a model in the catalog. */
  readonly getModel: (id: string) => Model | undefined;
  /** Return true if the model for such documents is so slow that their vectors are computed later. */
  readonly isDeferred: (orgId: string, origin: VectorOrigin | null) => Promise<boolean>;
  /** Report that documents of a bucket are waiting for vectors. */
  readonly onDeferred: (bucketId: string) => void;
  readonly index: IndexWriter;
  readonly pictures: DocumentImages;
  /** Pool of processes for documents that need a complex parser. */
  readonly children: ChildPool;
  readonly limits: { readonly documentMemoryBytes: number; readonly documentMs: number };
}

/**
 * Create the ingest job handler: extract -> chunk -> embed -> index. Searches find nothing of it until a single
 * statement finishes the job and makes its generation the document's active one.
 */
export function ingestHandler(context: IngestContext): JobHandler {
  // Each child may use a whole core and its full memory limit.
  const withSlot = pLimit(Math.max(1, availableParallelism()));
  const statements = ingestStatements(context.sql);
  return {
    kind: 'ingest',
    firstPhase: 'extracting',
    run: (lease) => ingest({ ...context, statements, withSlot }, lease),
    onFailed: (tx, job, failure) =>
      settleDocument(tx, job.orgId, job.documentId as string, { failure: failure.message }),
  };
}

interface WorkContext extends IngestContext {
  readonly statements: IngestStatements;
  readonly withSlot: <T>(run: () => Promise<T>) => Promise<T>;
}

async function ingest(context: WorkContext, lease: Lease): Promise<void> {
  const { held, job } = lease;
  const claimed = { held, orgId: job.orgId, documentId: job.documentId as string };
  // A small document is ready sooner, and is never shown as being processed.
  const marking = setTimeout(() => markProcessing(context.sql, claimed).catch(() => undefined), RECORDED_AFTER_MS);
  try {
    await ingestClaimed(context, lease, claimed);
  } finally {
    clearTimeout(marking);
  }
}

async function ingestClaimed(context: WorkContext, lease: Lease, claimed: ClaimedIngest): Promise<void> {
  const { sql } = context;
  const { job, signal } = lease;
  const source = await context.statements.findSource(claimed);
  if (!source) {
    // The deletion cancelled the jobs that it saw. An edit created this one at the same moment.
    await sql.begin(async (tx) => {
      if (await lockHeldJob(tx, lease.held)) await cancelJobs(tx, job.orgId, [job.id]);
    });
    throw new LeaseLost(job.id);
  }

  // Reprocessing always reads the file.
  if (keepsText(job.processingType) && job.view.reprocess_of_job_id === null) {
    const restored = await restoreGeneration(context, lease, source).catch(throwAsIndexMoved);
    if (restored !== null) {
      const found = { format: source.fileType as string, pages: source.pageCount };
      await finish(context, lease, restored, { found, cost: 0, extraction: null, tableName: null });
      return;
    }
  }
  if (isVectorDocument(source)) {
    const { generation, cost } = await ingestVector(context, lease, source).catch(throwAsIndexMoved);
    const found = { format: VECTOR_FORMAT, pages: null };
    return finish(context, lease, generation, { found, cost, extraction: null, tableName: null });
  }
  const { buffer, ...extracted } = await traced(
    'extract document',
    () => ({ 'service.bytes': source.sizeBytes }),
    () => extract(context, source, lease),
  );
  await lease.advance('chunking');
  if (extracted.last !== null) await cut(buffer, extracted.last, lease);
  if (buffer.count === 0) throw noText(extracted, source);

  await lease.advance('embedding');
  const { generation, cost, outage, tableName } = await write(context, lease, source, buffer);
  if (outage !== null) {
    signal.throwIfAborted();
    await activateWithoutVectors(sql, lease.held, generation, { ...extracted, outage });
    throw outage.error;
  }
  await finish(context, lease, generation, { found: extracted, cost, extraction: extracted, tableName });
  if (tableName !== null) context.onDeferred(source.bucketId);
}

/** Finish the job and make its generation searchable, in one statement. */
async function finish(
  { statements }: WorkContext,
  lease: Lease,
  generation: NewGeneration,
  result: {
    readonly found: { readonly format: string; readonly pages: number | null };
    readonly cost: number;
    readonly extraction: ExtractionRecord | null;
    /** Table of the rows if they have no vectors, which fit into any table. */
    readonly tableName: string | null;
  },
): Promise<void> {
  const { found, cost, extraction, tableName } = result;
  const snapshot = extraction && extractionSnapshot(extraction);
  lease.signal.throwIfAborted();
  await lease.completeBy(async (held) => {
    const written = { held, generation, fileType: found.format, pageCount: found.pages, cost, snapshot, tableName };
    const outcome = await statements.finish(written);
    if (outcome === 'moved') throw indexMoved();
    return outcome === 'ready';
  });
}

/** Result of extracting a document, its chunks so far, and its last and usually only window. */
type Extracted = ExtractSummary & { readonly buffer: ChunkBuffer; readonly last: TextWindow | null };

async function extract(context: WorkContext, source: IngestSource, lease: Lease): Promise<Extracted> {
  const pictures = pictureReading(context.pictures, source.options.ocr_strategy, () => lease.worked());
  try {
    return await extractOnce(context, source, pictures, lease);
  } catch (error) {
    if (!(error instanceof JobError) || !(error.cause instanceof PicturesDoNotFit)) throw error;
    // Text without the pictures is better than no text.
    const withoutPictures = await extractOnce(context, source, null, lease);
    if (withoutPictures.last?.text) return withoutPictures;
    throw error;
  }
}

/** Extract a document. Split all windows except the last into chunks during extraction. */
async function extractOnce(
  context: WorkContext,
  source: IngestSource,
  pictures: ImageReading | null,
  lease: Lease,
): Promise<Extracted> {
  const { signal } = lease;
  const { chunk_size: chunkTokens, chunk_overlap: overlapTokens } = source.options;
  const buffer = new ChunkBuffer(context.threads, { chunkTokens, overlapTokens });
  let last: TextWindow | null = null;
  const take = async (window: TextWindow) => {
    lease.worked();
    if (last !== null) await cut(buffer, last, lease);
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
        // Waiting for other documents isn't work, so restart the clock after the wait.
        withSlot: (run) => context.withSlot(() => afterWait(lease, run)),
        children: context.children,
        pictures,
        limits: { memoryBytesMax: context.limits.documentMemoryBytes, deadlineMs: context.limits.documentMs },
      },
      take,
    );
    return { ...summary, buffer, last };
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

function afterWait<T>(lease: Lease, run: () => Promise<T>): Promise<T> {
  lease.worked();
  return run();
}

async function cut(buffer: ChunkBuffer, window: TextWindow, lease: Lease): Promise<void> {
  if (!(await buffer.add(window, lease.signal))) throw tooManyChunks();
  lease.worked();
}

/**
 * Embed and write the chunks page by page. The first page determines the generation's model and latent space. Stored
 * vectors of unchanged chunks are reused. All pages are written without vectors in two cases: if no provider can embed
 * the first page of an otherwise unsearchable document, or if the model is slow, in which case another job adds the
 * vectors.
 * @returns `outage`: reason why the generation has no vectors; null if it has them or will have them soon; `tableName`:
 *   table of the rows if they get their vectors later, else null
 */
async function write(
  context: WorkContext,
  lease: Lease,
  source: IngestSource,
  buffer: ChunkBuffer,
): Promise<{ generation: NewGeneration; cost: number; outage: Outage | null; tableName: string | null }> {
  const { job, signal } = lease;
  const { orgId, documentId, origin: comparableWith } = source;
  const stored = source.hasGeneration
    ? await findStoredVectors(context, { orgId, documentId, buffer, comparableWith, signal })
    : null;
  const isDeferred = stored === null && (await context.isDeferred(orgId, comparableWith));
  // A later table would lack the rows.
  const tableName = isDeferred ? await nameOfTable(context.sql, source.bucketId) : null;
  const embedder = new ChunkEmbedder(context.embedder, orgId, {
    signal,
    comparableWith,
    // The bucket's space was read earlier. The index writer checks it again.
    checkSpace: async (space) => {
      if (space !== comparableWith?.space)
        await context.index.checkSpace(source.bucketId, space).catch(throwAsIndexMoved);
    },
  });
  let generation: NewGeneration | null = null;
  let writer: GenerationWriter | null = null;
  let written = 0;
  let outage: Outage | null = null;
  const vectorsOf = async (page: readonly PreparedChunk[]): Promise<EmbeddedChunks> => {
    const kept = await stored?.take(page.length);
    if (kept) return kept;
    if (outage !== null || isDeferred) return withoutVectors(page.length);
    try {
      return await embedder.embed(page.map((chunk) => chunk.embedText));
    } catch (error) {
      outage = generation === null ? await outageOf(context.sql, source, error) : null;
      if (outage === null) throw error;
      return withoutVectors(page.length);
    }
  };
  try {
    for await (const page of buffer.pages()) {
      const embedded = await vectorsOf(page);
      lease.worked();
      if (generation === null || writer === null) {
        generation = generationOf(job, source, buffer.count, embedded);
        if (!(await context.statements.register(generation))) throw new LeaseLost(job.id);
        writer = new GenerationWriter(context, source, generation, signal);
      }
      written += page.length;
      const isLast = written === buffer.count;
      if (isLast && outage === null) await lease.advance('indexing');
      await writer.write(page, embedded, isLast).catch(throwAsIndexMoved);
      lease.worked();
      lease.passCheckpoint();
    }
  } catch (error) {
    await writer?.abandon(error);
    throw error;
  } finally {
    await stored?.close();
  }
  if (generation === null) throw new Error('nothing to write');
  return { generation, cost: embedder.cost, outage, tableName };
}

/**
 * Create the error for a bucket whose index was or is about to be replaced while the document was processed. The job is
 * not at fault: it is deferred and then uses the new index's model.
 */
function indexMoved(cause?: unknown): AppError {
  return tryLater(
    "the bucket's index moves to another model or latent space; the job will be retried",
    'index_moving',
    { retryAfterSeconds: 1, cause },
  );
}

function tooManyChunks(): JobError {
  const message = `the document has more than ${CHUNKS_MAX} chunks; split it, or upload it with a larger chunk_size`;
  return new JobError({ category: 'too_large', message, retryable: false });
}

function noText({ format, failedPages }: ExtractSummary, source: IngestSource): JobError {
  const unread = failedPages.length === 0 ? '' : ` (${failedPages.length} of its pages could not be read)`;
  const message =
    format === 'pdf' && source.options.ocr_strategy === 'never'
      ? 'the PDF has no text layer, and ocr_strategy is never; upload it again with ocr_strategy auto'
      : `the file has no text${unread}`;
  return new JobError({ category: 'unsupported_type', message, retryable: false });
}

/** Rethrow an error. Refused vectors of another latent space become the error of a replaced index. */
function throwAsIndexMoved(error: unknown): never {
  throw error instanceof AppError && error.code === 'not_comparable' ? indexMoved(error) : error;
}
