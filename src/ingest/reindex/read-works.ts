import pLimit from 'p-limit';
import { AppError } from '../../platform/errors.ts';
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
/** Documents of more chunks are read part by part. */
const WHOLE_CHUNKS_MAX = 512;
/** Chunks decoded by one task of a thread: short enough that texts of other requests are counted in between. */
const DECODED_CHUNKS = 256;

interface ReadContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly sourceOf: (document: LiveDocument) => VectorSource;
  /** Analysed texts of the chunks of documents that are known, by generation. */
  readonly readTokens: (documents: readonly LiveDocument[]) => Promise<ReadonlyMap<number, readonly string[]>>;
  readonly signal: AbortSignal;
}

/** A document that could not be made anew, and the reason. */
export interface Failure {
  readonly document: LiveDocument;
  readonly error: unknown;
}

/** Read the stored chunks of documents. @throws AppError of the storage; the signal's reason */
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
      // A document that is deleted takes its artifact along.
      if (await isActive(sql, document.id, document.generation)) failures.push({ document, error });
      return null;
    }
  };
  const works = await allSettled(wanted.map((document, at) => limit(() => make(document, at))));
  return { works: works.filter((work) => work !== null), failures };
}

/** Read small documents together. @returns null in place of one that is large, refused, or cannot be read this way */
async function readSmall(
  { objects, threads, sourceOf, readTokens, signal }: ReadContext,
  documents: readonly LiveDocument[],
): Promise<(AnalysedArtifact | null)[]> {
  const limit = pLimit(OBJECTS_AT_ONCE_MAX);
  const known = await readTokens(documents.filter(({ chunksCount }) => chunksCount <= WHOLE_CHUNKS_MAX));
  const stored = await allSettled(
    documents.map((document) =>
      limit(async () => {
        const source = sourceOf(document);
        if (source === 'refuse' || document.chunksCount > WHOLE_CHUNKS_MAX) return null;
        signal.throwIfAborted();
        const bytes = await objects.get(document.artifactKey, { signal }).catch((error: unknown) => {
          if (error instanceof AppError && !error.retryable) return null; // It is read again, with its reason.
          throw error;
        });
        return bytes && { bytes, withVectors: source !== 'embed', isAnalysed: known.has(document.generation) };
      }),
    ),
  );
  const read: (AnalysedArtifact | null)[] = documents.map(() => null);
  await allSettled(
    groupsOf(documents, stored).map(async (group) => {
      const some = group.flatMap((at) => stored[at] ?? []);
      const decoded = await decodeAllOnThread(threads, some, signal);
      for (const [nth, at] of group.entries()) {
        const { artifact, tokens = null } = decoded[nth] ?? {};
        const own = tokens ?? known.get(documents[at]?.generation ?? 0);
        if (artifact && own?.length === artifact.chunks.length) read[at] = { artifact, tokens: own };
      }
    }),
  );
  return read;
}

/** Group the positions of the documents whose bytes were read, by the chunks that one task decodes. */
function groupsOf(documents: readonly LiveDocument[], stored: readonly unknown[]): number[][] {
  const groups: number[][] = [];
  let chunks = DECODED_CHUNKS;
  for (const [at, { chunksCount }] of documents.entries()) {
    if (stored[at] === null) continue;
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
    message: `the stored chunks of ${document.id} are damaged or gone; reprocess it, or go on without such documents`,
    details: { document_id: document.id },
  });
}

function refused({ model, revision, space }: LiveDocument): AppError {
  return new AppError({
    code: 'not_comparable',
    status: 409,
    message: `its vectors (of ${model}, revision ${revision}, in ${space}) cannot be made comparable`,
  });
}
