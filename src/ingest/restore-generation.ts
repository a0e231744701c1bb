import { artifactKey } from '../documents/documents.ts';
import { type Lease, LeaseLost } from '../jobs/lease.ts';
import { AppError } from '../platform/errors.ts';
import { KEYWORD_ONLY } from '../projection/projections.ts';
import type { ChunkArtifact } from './artifact.ts';
import { readArtifactParts } from './artifact-store.ts';
import type { NewGeneration } from './generation-store.ts';
import { analyseArtifacts } from './index-rows.ts';
import type { IngestStatements } from './ingest-statements.ts';
import type { IngestSource } from './source-store.ts';
import { findStoredGeneration, type StoredGeneration } from './store.ts';
import { GenerationWriter, type WriteContext } from './write-generation.ts';

/**
 * Write a new generation of a document from its stored chunks and vectors. A metadata edit changes neither, so the file
 * need not be reread.
 *
 * Return null if nothing is stored, if it is damaged or from earlier content, or if its vectors are in another latent
 * space than the bucket's current ones.
 */
export async function restoreGeneration(
  context: WriteContext & { readonly statements: IngestStatements },
  lease: Lease,
  source: IngestSource,
): Promise<NewGeneration | null> {
  const { orgId, bucketId, documentId } = source;
  if (source.isContentPending) return null;
  const stored = await findStoredGeneration(context.sql, orgId, documentId);
  if (stored === null || stored.space === KEYWORD_ONLY || source.fileType === null) return null;
  if (source.origin !== null && source.origin.space !== stored.space) return null;
  if (!(await isWhole(context, stored, lease.signal))) return null;
  await lease.advance('chunking');
  await lease.advance('embedding');
  const id = lease.job.generation as number;
  const generation: NewGeneration = {
    id,
    orgId,
    bucketId,
    documentId,
    jobId: lease.job.id,
    artifactKey: artifactKey(orgId, documentId, id),
    chunksCount: stored.chunksCount,
    embedModel: stored.model,
    embedRevision: stored.revision,
    space: stored.space,
    mapVersion: stored.mapVersion,
    nativeDimension: stored.nativeDimension,
    hasText: stored.hasText,
    replaces: null,
  };
  if (!(await context.statements.register(generation))) throw new LeaseLost(lease.job.id);
  const writer = new GenerationWriter(context, source, generation, lease.signal);
  try {
    await copyParts(context, lease, writer, stored);
  } catch (error) {
    await writer.abandon(error);
    throw error;
  }
  return generation;
}

/** Return true if all chunks are readable. Write nothing before that is certain. */
async function isWhole({ objects }: WriteContext, stored: StoredGeneration, signal: AbortSignal): Promise<boolean> {
  let count = 0;
  try {
    for await (const { chunks } of readArtifactParts(objects, stored.artifactKey, { signal })) count += chunks.length;
  } catch (error) {
    if (error instanceof AppError && !error.retryable) return false;
    throw error;
  }
  return count === stored.chunksCount;
}

async function copyParts(
  context: WriteContext,
  lease: Lease,
  writer: GenerationWriter,
  { model, revision, space, artifactKey: key, chunksCount }: StoredGeneration,
): Promise<void> {
  const { signal } = lease;
  let written = 0;
  for await (const part of readArtifactParts(context.objects, key, { signal })) {
    const [tokens = []] = await analyseArtifacts(context.threads, [part], signal);
    written += part.chunks.length;
    const isLast = written === chunksCount;
    if (isLast) await lease.advance('indexing');
    await writer.write(preparedOf(part, tokens), { ...part, origin: { model, revision, space } }, isLast);
    lease.worked();
  }
}

function preparedOf({ chunks }: ChunkArtifact, tokens: readonly string[]) {
  return chunks.map(({ index, text, token_count, locator }, at) => ({
    index,
    text,
    tokenCount: token_count,
    locator,
    tokens: tokens[at] as string,
  }));
}
