import pLimit from 'p-limit';
import { AppError, conflict } from '../../platform/errors.ts';
import type { Objects } from '../../platform/objects/objects.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { Threads } from '../../platform/threads.ts';
import { readArtifact } from '../artifact-store.ts';
import { analyseArtifacts } from '../index-rows.ts';
import { allSettled } from './all-settled.ts';
import { type AnalysedArtifact, decodeAllOnThread } from './artifacts-on-thread.ts';
import type { VectorSource } from './plan.ts';
import { isActive, type LiveDocument, nextGenerations } from './store.ts';
import type { Work } from './work.ts';

const OBJECTS_AT_ONCE_MAX = 16;
/** Maximum number of groups of small documents to read and decode concurrently. */
const GROUPS_AT_ONCE_MAX = 2;
/** Number of chunks above which a document is read part by part. */
const WHOLE_CHUNKS_MAX = 512;
/** Maximum number of chunks to decode per thread task, short enough for other requests to count tokens in between. */
const DECODED_CHUNKS = 256;

export interface ReadContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly sourceOf: (document: LiveDocument) => VectorSource;
  /** Read known analysed texts of documents' chunks, by generation. */
  readonly readTokens: (documents: readonly LiveDocument[]) => Promise<ReadonlyMap<number, readonly string[]>>;
  readonly signal: AbortSignal;
}

/** Document that couldn't be reindexed, with the reason. */
export interface Failure {
  readonly document: LiveDocument;
  readonly error: unknown;
}

/** Read the stored chunks of documents. @throws AppError of the storage; the reason of the signal */
export async function readWorks(
  context: ReadContext,
  documents: readonly LiveDocument[],
): Promise<{ works: Work[]; failures: Failure[] }> {
  const { sql, signal, sourceOf } = context;
  const wanted = documents.filter((document) => sourceOf(document) !== 'skip');
  const ids = await nextGenerations(sql, wanted.length);
  const small = await readSmall(context, wanted);
  const limit = pLimit(OBJECTS_AT_ONCE_MAX);
  const failures: Failure[] = [];
  const make = async (document: LiveDocument, at: number): Promise<Work | null> => {
    signal.throwIfAborted();
    const source = sourceOf(document) as Exclude<VectorSource, 'skip'>;
    try {
      if (source === 'refuse') throw refused(document);
      const { artifact, tokens } = small[at] ?? (await readOne(context, document, source));
      checkArtifact(document, artifact, source);
      const generation = source === 'keep' ? document.generation : (ids[at] as number);
      return { document, source, generation, artifact, tokens };
    } catch (error) {
      if (!(error instanceof AppError) || error.retryable) throw error;
      // Deleting a document deletes its artifact.
      if (await isActive(sql, document.id, document.generation)) failures.push({ document, error });
      return null;
    }
  };
  const works = await allSettled(wanted.map((document, at) => limit(() => make(document, at))));
  return { works: works.filter((work) => work !== null), failures };
}

/**
 * Read small documents together.
 * @returns null for a document that is large, refused, or can't be read this way
 */
async function readSmall(
  { objects, threads, sourceOf, readTokens, signal }: ReadContext,
  documents: readonly LiveDocument[],
): Promise<(AnalysedArtifact | null)[]> {
  const isSmall = (document: LiveDocument) =>
    sourceOf(document) !== 'refuse' && document.chunksCount <= WHOLE_CHUNKS_MAX;
  const known = await readTokens(documents.filter(isSmall));
  const read: (AnalysedArtifact | null)[] = documents.map(() => null);
  const readGroup = async (group: readonly number[]) => {
    signal.throwIfAborted();
    const own = group.map((at) => documents[at] as LiveDocument);
    const stored = await objects.getMany(
      own.map(({ artifactKey }) => artifactKey),
      { signal },
    );
    const found = stored.flatMap((bytes, nth) => (bytes === null ? [] : [{ bytes, nth }]));
    const decoded = await decodeAllOnThread(
      threads,
      found.map(({ bytes, nth }) => {
        const document = own[nth] as LiveDocument;
        return { bytes, withVectors: sourceOf(document) !== 'embed', isAnalysed: known.has(document.generation) };
      }),
      signal,
    );
    for (const [at, { nth }] of found.entries()) {
      const { artifact, tokens = null } = decoded[at] ?? {};
      const analysed = tokens ?? known.get(own[nth]?.generation ?? 0);
      if (artifact && analysed?.length === artifact.chunks.length)
        read[group[nth] as number] = { artifact, tokens: analysed };
    }
  };
  const limit = pLimit(GROUPS_AT_ONCE_MAX);
  await allSettled(groupsOf(documents, isSmall).map((group) => limit(() => readGroup(group))));
  return read;
}

/** Group the positions of small documents by decoding task. */
function groupsOf(documents: readonly LiveDocument[], isSmall: (document: LiveDocument) => boolean): number[][] {
  const groups: number[][] = [];
  let chunks = DECODED_CHUNKS;
  for (const [at, document] of documents.entries()) {
    const { chunksCount } = document;
    if (!isSmall(document)) continue;
    if (chunks >= DECODED_CHUNKS) {
      groups.push([]);
      chunks = 0;
    }
    groups.at(-1)?.push(at);
    chunks += chunksCount;
  }
  return groups;
}

async function readOne(
  { objects, threads, signal }: ReadContext,
  { artifactKey }: LiveDocument,
  source: VectorSource,
): Promise<AnalysedArtifact> {
  const artifact = await readArtifact(objects, artifactKey);
  const [tokens = []] = await analyseArtifacts(threads, [artifact], signal);
  return {
    artifact: source === 'embed' ? { ...artifact, vectors: new Float32Array(0), native: null } : artifact,
    tokens,
  };
}

function checkArtifact(document: LiveDocument, artifact: AnalysedArtifact['artifact'], source: VectorSource): void {
  const isWhole = artifact.chunks.length === document.chunksCount;
  if (isWhole && (source !== 'keep' || artifact.space === document.space)) {
    if (source !== 'project' || artifact.native !== null) return;
    throw new AppError({ code: 'no_native_vectors', status: 409, message: 'its artifact has no native vectors' });
  }
  throw new AppError({
    code: 'artifact_corrupt',
    status: 409,
    message: `the stored chunks of ${document.id} are damaged or gone; reprocess the document`,
    details: { document_id: document.id },
  });
}

function refused({ model, revision, space }: LiveDocument): AppError {
  return conflict(
    `its vectors (of ${model}, revision ${revision}, in ${space}) cannot be made comparable`,
    'not_comparable',
  );
}
