import type { LimitFunction } from 'p-limit';
import { artifactKey } from '../../documents/documents.ts';
import type { IndexWriter } from '../../index/writing/index-writer.ts';
import type { ReindexRun } from '../../index/writing/reindex-store.ts';
import { AppError } from '../../platform/errors.ts';
import { freeMemory } from '../../platform/free-memory.ts';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { type ChunkArtifact, encodeOnThread } from '../artifact.ts';
import { registerGenerations } from '../generation-store.ts';
import { rowsOf } from '../index-rows.ts';
import { allSettled } from './all-settled.ts';
import { encodeAllOnThread } from './artifacts-on-thread.ts';
import type { VectorMaker } from './make-vectors.ts';
import { type Failure, type ReadContext, readWorks } from './read-works.ts';
import type { LiveDocument } from './store.ts';
import type { Work } from './work.ts';

const APPEND_CHUNKS = 1_000;
/** Chunks above which a document is encoded alone. Smaller documents are encoded together, up to this number. */
const ENCODED_ALONE_CHUNKS = 64;
const ENCODED_CHUNKS = 512;

/** Limits of each step of the work, for all batches of a run together. */
export interface StepLimits {
  readonly reading: LimitFunction;
  /** Batches being written. */
  readonly writing: LimitFunction;
  /** Groups of artifacts being encoded and stored. */
  readonly storing: LimitFunction;
}

export interface BatchContext extends ReadContext {
  readonly index: IndexWriter;
  readonly vectors: VectorMaker;
  readonly limits: StepLimits;
  readonly orgId: string;
  readonly run: ReindexRun;
}

/** Document whose rows have been written. */
export interface Written {
  readonly document: LiveDocument;
  /** Generation of the rows: a new one, or the live one if its vectors were kept. */
  readonly generation: number;
}

/**
 * Write documents to a run's table, as generations that no search finds yet. Skip a document that was deleted or
 * ingested again meanwhile.
 * @throws AppError of the provider, the index and the storage; the reason of the signal
 */
export async function writeBatch(
  context: BatchContext,
  documents: readonly LiveDocument[],
): Promise<{ written: Written[]; failures: Failure[] }> {
  const { limits, signal } = context;
  const { works, failures } = await limits.reading(() => readWorks(context, documents));
  await context.vectors.make(works, signal);
  return { written: await limits.writing(() => writeWorks(context, works)), failures };
}

/** Store the artifacts of documents, then append all their rows in one commit of the index. */
async function writeWorks(context: BatchContext, works: readonly Work[]): Promise<Written[]> {
  context.signal.throwIfAborted();
  const known = await register(context, works);
  const registered = works.filter(({ generation }) => known.has(generation));
  const made = registered.filter(({ source }) => source !== 'keep');
  await allSettled(groupsOf(made).map((group) => storeGroup(context, group)));
  const written = await allSettled(
    registered.map(async (work) => {
      const isWritten = await append(context, work);
      return isWritten ? { document: work.document, generation: work.generation } : null;
    }),
  );
  return written.filter((each) => each !== null);
}

/**
 * Register the new generations before writing any of their data, so that a sweep can delete what a crash leaves.
 * @returns generations whose document still exists, including those that are kept
 */
async function register({ sql, orgId, run }: BatchContext, works: readonly Work[]): Promise<Set<number>> {
  const made = works.filter(({ source }) => source !== 'keep');
  const known = await registerGenerations(
    sql,
    made.map(({ document, generation, artifact }) => ({
      id: generation,
      orgId,
      bucketId: run.bucketId,
      documentId: document.id,
      jobId: run.id,
      artifactKey: artifactKey(orgId, document.id, generation),
      chunksCount: artifact.chunks.length,
      embedModel: artifact.model,
      embedRevision: artifact.native?.revision ?? null,
      space: artifact.space,
      mapVersion: artifact.mapVersion,
      nativeDimension: artifact.native?.dimension ?? null,
      hasText: document.hasText,
      replaces: document.generation,
    })),
  );
  for (const { source, generation } of works) if (source === 'keep') known.add(generation);
  return known;
}

/** Group documents by encoding task. */
function groupsOf(works: readonly Work[]): Work[][] {
  const groups: Work[][] = [];
  let chunks = Number.POSITIVE_INFINITY;
  for (const work of works) {
    const own = work.artifact.chunks.length;
    if (chunks + own > ENCODED_CHUNKS || own > ENCODED_ALONE_CHUNKS) {
      groups.push([]);
      chunks = 0;
    }
    groups.at(-1)?.push(work);
    chunks += own > ENCODED_ALONE_CHUNKS ? Number.POSITIVE_INFINITY : own;
  }
  return groups;
}

async function storeGroup({ orgId, threads, objects, limits, signal }: BatchContext, works: Work[]): Promise<void> {
  const artifacts = works.map(({ document, generation, artifact }): ChunkArtifact => {
    const chunks = artifact.chunks.map((chunk) => ({ ...chunk, id: `${document.id}_${generation}_${chunk.index}` }));
    return { ...artifact, generation, chunks };
  });
  const keys = works.map(({ document, generation }) => artifactKey(orgId, document.id, generation));
  const [only] = artifacts;
  const [key] = keys;
  await limits.storing(async () => {
    signal.throwIfAborted();
    if (only && key && artifacts.length === 1) {
      await objects.put(key, await encodeOnThread(threads, only, signal));
      return;
    }
    const { encoded, vectors } = await encodeAllOnThread(threads, artifacts, signal);
    for (const [at, work] of works.entries()) {
      work.artifact = { ...work.artifact, vectors: vectors[at] as Float32Array, native: null };
    }
    await objects.putMany(encoded.map((bytes, at) => ({ key: keys[at] as string, bytes })));
  });
}

/** Append a document's rows. @returns false if the document was deleted or ingested again meanwhile */
async function append(context: BatchContext, work: Work): Promise<boolean> {
  const { run, index, objects, signal } = context;
  const { document, generation, artifact, tokens, source } = work;
  const { id: documentId, collectionId, privacyLevel, eventTimeMs } = document;
  const { chunks, vectors } = artifact;
  const rows = { documentId, generation, collectionId, privacyLevel, eventTimeMs, chunks, tokens, vectors };
  try {
    for (const slice of rowsOf({ ...rows, dimensions: INDEX_DIMENSIONS }, APPEND_CHUNKS)) {
      signal.throwIfAborted();
      await index.append(run.bucketId, slice, run.origin, { run: run.tableName === null ? null : run.id });
    }
    freeMemory(vectors);
    return true;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'generation_gone') throw error;
    if (source !== 'keep')
      await objects.delete(artifactKey(context.orgId, documentId, generation), { unreferenced: true });
    return false;
  }
}
