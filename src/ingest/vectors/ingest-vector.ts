import type { Embedder } from '../../embedding/embedder.ts';
import type { VectorOrigin } from '../../embedding/model-choice.ts';
import { JobError, type Lease, LeaseLost } from '../../jobs/lease.ts';
import type { Model } from '../../models/catalog.ts';
import { countTokens } from '../../models/tokens.ts';
import { mapInto, type Projections, spaceOf } from '../../projection/projections.ts';
import { INDEX_DIMENSIONS, resizeVectors } from '../../projection/resize.ts';
import { ChunkEmbedder, type EmbeddedChunks } from '../chunk-embedder.ts';
import { generationOf } from '../generation-of-job.ts';
import type { NewGeneration } from '../generation-store.ts';
import { toHalves } from '../half-floats.ts';
import type { IngestStatements } from '../ingest-statements.ts';
import { analyseKept } from '../prepare-chunks.ts';
import type { IngestSource } from '../source-store.ts';
import { GenerationWriter, type WriteContext } from '../write-generation.ts';
import { CONTENT_BYTES_MAX, decodeVectorDocument, VECTOR_TYPE, type VectorDocument } from './vector-document.ts';

export interface VectorContext extends WriteContext {
  readonly statements: IngestStatements;
  readonly embedder: Embedder;
  readonly projections: Projections;
  /** Find a model in the catalog. */
  readonly getModel: (id: string) => Model | undefined;
}

/** Return true for a document that consists of one imported vector. */
export function isVectorDocument({ contentType }: IngestSource): boolean {
  return contentType === VECTOR_TYPE;
}

/**
 * Write the generation of an imported vector: one chunk, whose vector its model's map brings into the bucket's space.
 * If there is no such map, embed the text with the bucket's model.
 *
 * @throws JobError `corrupt`; `not_comparable` for a vector without text and without a map into the bucket's space
 */
export async function ingestVector(
  context: VectorContext,
  lease: Lease,
  source: IngestSource,
): Promise<{ generation: NewGeneration; cost: number }> {
  const { job, signal } = lease;
  const bytes = await context.objects.get(source.objectKey, { maxBytes: CONTENT_BYTES_MAX, signal });
  const stored = decodeVectorDocument(bytes);
  await lease.advance('chunking');
  await lease.advance('embedding');
  const embedder = new ChunkEmbedder(context.embedder, source.orgId, {
    signal,
    comparableWith: source.origin,
    // The index writer checks it.
    checkSpace: async () => {},
  });
  const embedded = (await project(context, source.origin, stored, signal)) ?? (await embed(embedder, stored, source));
  const generation = { ...generationOf(job, source, 1, embedded), hasText: stored.text !== null };
  if (!(await context.statements.register(generation))) throw new LeaseLost(job.id);
  await lease.advance('indexing');
  const writer = new GenerationWriter(context, source, generation, signal);
  await writer.write([chunkOf(stored.text ?? '')], embedded, true);
  return { generation, cost: embedder.cost };
}

/** Project a vector into the bucket's space. Return null if its model has no map into it. */
async function project(
  { projections, getModel }: VectorContext,
  origin: VectorOrigin | null,
  { model: id, revision, vector }: VectorDocument,
  signal: AbortSignal,
): Promise<EmbeddedChunks | null> {
  const model = getModel(id);
  const dimension = vector.length;
  if (model?.revision !== revision || model.nativeDimension !== dimension) return null;
  const space = origin?.space ?? spaceOf(projections, model);
  const map = mapInto(projections, model, space);
  if (map === undefined) return null;
  const vectors = map
    ? await map.project(vector, INDEX_DIMENSIONS, signal)
    : resizeVectors(vector, dimension, INDEX_DIMENSIONS);
  return {
    vectors,
    native: { dimension, revision, vectors: toHalves(vector) },
    model: id,
    space,
    mapVersion: map?.version ?? null,
    origin: { model: id, revision, space },
  };
}

function embed(
  embedder: ChunkEmbedder,
  { model, text }: VectorDocument,
  { origin }: IngestSource,
): Promise<EmbeddedChunks> {
  if (text !== null) return embedder.embed([text]);
  const space = origin === null ? '' : ` (${origin.space})`;
  throw new JobError({
    category: 'not_comparable',
    message: `the vector has no text, and ${model} has no map into the latent space of the bucket${space}; fit one (service projections fit), then reprocess the document`,
    retryable: false,
  });
}

function chunkOf(text: string) {
  const locator = { page: null, heading_path: [], start: 0, end: text.length };
  const [tokens = ''] = text === '' ? [] : analyseKept([{ text, locator }]);
  return { index: 0, text, tokenCount: countTokens(text), locator, tokens };
}
