import pLimit, { type LimitFunction } from 'p-limit';
import { artifactKey } from '../../documents/documents.ts';
import { AppError } from '../../platform/errors.ts';
import type { Objects } from '../../platform/objects/objects.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { Threads } from '../../platform/threads.ts';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type { IndexWriter } from '../../search/index-writer.ts';
import type { ReindexRun } from '../../search/reindex-store.ts';
import { type ChunkArtifact, encodeOnThread } from '../artifact.ts';
import { readArtifact } from '../artifact-store.ts';
import { analyseArtifacts, rowsOf } from '../index-rows.ts';
import { registerGenerations } from '../store.ts';
import type { VectorMaker } from './make-vectors.ts';
import type { VectorSource } from './plan.ts';
import { isActive, type LiveDocument, nextGenerations } from './store.ts';
import type { Work } from './work.ts';

/** Chunks given to the index at once. */
const APPEND_CHUNKS = 1_000;
const OBJECTS_AT_ONCE_MAX = 8;

export interface BatchContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly index: IndexWriter;
  readonly vectors: VectorMaker;
  /** Batches that are read at once. */
  readonly reading: LimitFunction;
  readonly orgId: string;
  readonly run: ReindexRun;
  readonly sourceOf: (document: LiveDocument) => VectorSource;
  readonly signal: AbortSignal;
}

/** A document that could not be made anew, and the reason. */
export interface Failure {
  readonly document: LiveDocument;
  readonly error: unknown;
}

/** A document whose rows are written. */
export interface Written {
  readonly document: LiveDocument;
  /** Generation of the rows: a new one, or the live one where its vectors were kept. */
  readonly generation: number;
}

/**
 * Write some documents into the table of a run, as generations that no search finds yet. A document that is deleted or
 * ingested again meanwhile is left out.
 *
 * @throws AppError of the provider, the index and the storage; the signal's reason
 */
export async function writeBatch(
  context: BatchContext,
  documents: readonly LiveDocument[],
): Promise<{ written: Written[]; failures: Failure[] }> {
  const { works, failures } = await context.reading(() => readWorks(context, documents));
  await context.vectors.make(works, context.signal);
  const tokens = await analyseArtifacts(
    context.threads,
    works.map(({ artifact }) => artifact),
    context.signal,
  );
  const known = await register(context, works);
  const limit = pLimit(OBJECTS_AT_ONCE_MAX);
  const written = await allSettled(
    works.map(async (work, at) => {
      if (!known.has(work.generation)) return null;
      if (work.source !== 'keep') await limit(() => store(context, work));
      if (!(await append(context, work, tokens[at] as string[]))) return null;
      return { document: work.document, generation: work.generation };
    }),
  );
  return { written: written.filter((each) => each !== null), failures };
}

async function readWorks(
  context: BatchContext,
  documents: readonly LiveDocument[],
): Promise<{ works: Work[]; failures: Failure[] }> {
  const { sql, objects, signal } = context;
  const ids = await nextGenerations(sql, documents.length);
  const failures: Failure[] = [];
  const read = async (document: LiveDocument, at: number): Promise<Work | null> => {
    signal.throwIfAborted();
    const source = context.sourceOf(document);
    if (source === 'skip') return null;
    try {
      if (source === 'refuse') throw refused(document);
      const artifact = await readArtifact(objects, document.artifactKey);
      checkArtifact(document, artifact, source);
      return { document, source, generation: source === 'keep' ? document.generation : (ids[at] as number), artifact };
    } catch (error) {
      if (!(error instanceof AppError) || error.retryable) throw error;
      // A document that is deleted takes its artifact along.
      if (await isActive(sql, document.id, document.generation)) failures.push({ document, error });
      return null;
    }
  };
  const limit = pLimit(OBJECTS_AT_ONCE_MAX);
  const works = await allSettled(documents.map((document, at) => limit(() => read(document, at))));
  return { works: works.filter((work) => work !== null), failures };
}

function checkArtifact(document: LiveDocument, artifact: ChunkArtifact, source: VectorSource): void {
  const isWhole = artifact.chunks.length === document.chunksCount;
  if (isWhole && (source !== 'keep' || artifact.space === document.space)) {
    if (source !== 'project' || artifact.native !== null) return;
    throw new AppError({ code: 'no_native_vectors', status: 409, message: 'its artifact has no native vectors' });
  }
  throw new AppError({
    code: 'artifact_corrupt',
    status: 409,
    message: `the stored chunks of ${document.id} are damaged or gone; reprocess it, or go on without such documents`,
    details: { document_id: document.id },
  });
}

/**
 * Register the new generations before anything of them is written, so that whatever a crash leaves is swept.
 *
 * @returns generations whose document still exists, those that are kept included
 */
async function register({ sql, orgId, run }: BatchContext, works: readonly Work[]): Promise<Set<number>> {
  const made = works.filter(({ source }) => source !== 'keep');
  const known = await registerGenerations(
    sql,
    orgId,
    made.map(({ document, generation, artifact }) => ({
      ...{ id: generation, orgId, bucketId: run.bucketId, documentId: document.id, jobId: run.id },
      ...{ artifactKey: artifactKey(orgId, document.id, generation), chunksCount: artifact.chunks.length },
      ...{ embedModel: artifact.model, embedRevision: artifact.native?.revision ?? null, space: artifact.space },
      ...{ mapVersion: artifact.mapVersion, nativeDimension: artifact.native?.dimension ?? null },
      replaces: document.generation,
    })),
  );
  for (const { source, generation } of works) if (source === 'keep') known.add(generation);
  return known;
}

async function store({ orgId, threads, objects, signal }: BatchContext, work: Work): Promise<void> {
  const { document, generation, artifact } = work;
  const chunks = artifact.chunks.map((chunk) => ({ ...chunk, id: `${document.id}_${generation}_${chunk.index}` }));
  const bytes = await encodeOnThread(threads, { ...artifact, generation, chunks }, signal);
  await objects.put(artifactKey(orgId, document.id, generation), bytes);
}

/** @returns false if the document was deleted or ingested again meanwhile */
async function append(context: BatchContext, work: Work, tokens: readonly string[]): Promise<boolean> {
  const { run, index, objects, signal } = context;
  const { document, generation, artifact, source } = work;
  const { id: documentId, collectionId, privacyLevel, eventTimeMs } = document;
  const { chunks, vectors } = artifact;
  const rows = { documentId, generation, collectionId, privacyLevel, eventTimeMs, chunks, tokens, vectors };
  try {
    for (const slice of rowsOf({ ...rows, dimensions: INDEX_DIMENSIONS }, APPEND_CHUNKS)) {
      signal.throwIfAborted();
      await index.append(run.bucketId, slice, run.origin, { run: run.tableName === null ? null : run.id });
    }
    return true;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'generation_gone') throw error;
    if (source !== 'keep')
      await objects.delete(artifactKey(context.orgId, documentId, generation), { unreferenced: true });
    return false;
  }
}

/** Wait for all promises, and then throw what the first failed one threw: nothing goes on in the background. */
async function allSettled<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return Promise.all(promises);
}

function refused({ model, revision, space }: LiveDocument): AppError {
  return new AppError({
    code: 'not_comparable',
    status: 409,
    message: `its vectors (of ${model}, revision ${revision}, in ${space}) cannot be made comparable`,
  });
}
