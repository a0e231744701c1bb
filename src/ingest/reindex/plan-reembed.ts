import type { Caller } from '../../access/caller.ts';
import { findBucket } from '../../documents/buckets.ts';
import type { Backends } from '../../embedding/backends.ts';
import type { VectorOrigin } from '../../embedding/model-choice.ts';
import type { RoutingTable } from '../../embedding/routing.ts';
import { getIndexTable, type LiveGroup, selectLiveGroups, type VectorFacts } from '../../index/index-store.ts';
import type { Model } from '../../models/catalog.ts';
import { conflict } from '../../platform/errors.ts';
import type { Objects } from '../../platform/objects/objects.ts';
import type { Sql } from '../../platform/postgres.ts';
import { KEYWORD_ONLY, mapInto, type Projections, spaceOf } from '../../projection/projections.ts';
import { readArtifact } from '../artifact-store.ts';
import { selectLiveArtifacts } from '../store.ts';
import type { ReindexPlan, VectorSource } from './plan.ts';

export interface ReembedContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly projections: Projections;
  readonly backends: Backends;
  readonly routing: Pick<RoutingTable, 'of'>;
}

export interface ReembedRequest {
  /** Name or id. */
  readonly bucket: string;
  /** Model id; by default the primary model of the organization's routing. */
  readonly model?: string | undefined;
  /** True to use only stored vectors, and send no text to a provider. */
  readonly storedOnly?: boolean;
}

/** Plan to embed a bucket with another model, including a cost estimate. */
export interface ReembedPlan extends ReindexPlan {
  readonly origin: VectorOrigin;
  readonly model: Model;
  readonly from: VectorOrigin;
  /** Number of chunks whose text a provider must embed. The others already have vectors. */
  readonly texts: number;
  readonly estimatedTokens: number;
  /** Cost in the currency of the operator's prices. */
  readonly estimatedCost: number;
}

/** Number of documents to sample for estimating the tokens per chunk. */
const SAMPLE_DOCUMENTS = 16;

/**
 * Plan to embed every chunk of a bucket with a model. Stored vectors of that model are reused.
 * @throws AppError `bucket_not_found` (404), `unknown_model` (400), `provider_unavailable` (502): the model has no
 *   provider, `index_empty`, `vectors_without_text` (409)
 */
export async function planReembed(
  context: ReembedContext,
  caller: Pick<Caller, 'orgId'>,
  request: ReembedRequest,
): Promise<ReembedPlan> {
  const { sql, backends, projections } = context;
  const bucket = await findBucket(sql, caller, request.bucket);
  const asked = backends.catalog.find(request.model ?? (await context.routing.of(caller.orgId)).primary);
  backends.requireProviders(asked);
  const { embedder, models } = backends.indexModelsOf(asked);
  const groups = await selectLiveGroups(sql, caller.orgId, bucket.id);
  const from = (await getIndexTable(sql, bucket.id))?.origin ?? null;
  if (from === null || groups.length === 0) throw emptyBucket(bucket.name);
  const [first] = models;
  if (!first) throw new Error('no model embeds');
  const space = spaceOf(projections, first);
  const origin = { model: embedder.id, revision: embedder.kind === 'alias' ? null : embedder.revision, space };
  const sourceOfFacts = (facts: VectorFacts) => {
    if (!facts.hasText) return sourceWithoutText(facts, space, backends, projections);
    return request.storedOnly && facts.space === KEYWORD_ONLY ? 'keep' : sourceOf(facts, models, space, projections);
  };
  refuseLostVectors(
    bucket.name,
    asked,
    groups.filter((group) => sourceOfFacts(group) === 'refuse'),
  );
  const isRefused = (source: VectorSource) => request.storedOnly === true && source === 'embed';
  const due = groups.filter((group) => sourceOfFacts(group) !== 'keep');
  const texts = groups.reduce((sum, group) => sum + (sourceOfFacts(group) === 'embed' ? group.chunks : 0), 0);
  const isDone = due.length === 0 && from.model === origin.model && from.space === space;
  const estimatedTokens = texts === 0 ? 0 : Math.ceil(texts * (await tokensOfChunk(context, caller.orgId, bucket.id)));
  return {
    kind: 'reembed',
    bucketId: bucket.id,
    bucketName: bucket.name,
    mode: isDone ? 'nothing' : 'new_table',
    origin,
    from,
    model: asked,
    embedder,
    texts,
    estimatedTokens,
    estimatedCost: (estimatedTokens * first.pricePerMillion) / 1e6,
    sourceOf(facts) {
      const source = sourceOfFacts(facts);
      return isRefused(source) ? 'refuse' : source;
    },
    mapOf: (id) => projections.mapOf(backends.catalog.find(id)),
    documents: groups.reduce((sum, group) => sum + group.documents, 0),
    chunks: groups.reduce((sum, group) => sum + group.chunks, 0),
    warnings: [],
  };
}

function sourceOf(facts: VectorFacts, models: readonly Model[], space: string, projections: Projections): VectorSource {
  const model = models.find(({ id }) => id === facts.model);
  if (!model) return 'embed';
  const version = projections.mapOf(model)?.version ?? null;
  const isOfRevision = model.kind === 'lexical' || facts.revision === model.revision;
  if (isOfRevision && facts.space === space && facts.mapVersion === version) return 'keep';
  return isOfRevision && facts.nativeDimension === model.nativeDimension ? 'project' : 'embed';
}

/** Choose the source of vectors without text. Only a map can bring them into another space. */
function sourceWithoutText(
  facts: VectorFacts,
  space: string,
  { catalog }: Backends,
  projections: Projections,
): VectorSource {
  const model = catalog.get(facts.model);
  const isOfRevision = facts.revision === model?.revision && facts.nativeDimension === model?.nativeDimension;
  const map = model && isOfRevision ? mapInto(projections, model, space) : undefined;
  if (facts.space === space && (map === undefined || facts.mapVersion === (map?.version ?? null))) return 'keep';
  return map === undefined ? 'refuse' : 'project';
}

/** @throws AppError `vectors_without_text` (409) if the move would lose vectors */
function refuseLostVectors(bucket: string, { id }: Model, lost: readonly LiveGroup[]): void {
  if (lost.length === 0) return;
  const documents = lost.reduce((sum, group) => sum + group.documents, 0);
  const models = [...new Set(lost.map(({ model }) => model))].join(', ');
  throw conflict(
    `bucket ${bucket} has ${documents} ${documents === 1 ? 'document' : 'documents'} of imported vectors without ` +
      `their text, and ${models} has no map into the latent space of ${id}; fit the maps of these models (service ` +
      'projections fit), choose a model whose vectors are comparable, or delete these documents',
    'vectors_without_text',
  );
}

/** Estimate the mean number of tokens per chunk from some documents of a bucket. */
export async function tokensOfChunk(
  { sql, objects }: Pick<ReembedContext, 'sql' | 'objects'>,
  orgId: string,
  bucketId: string,
): Promise<number> {
  let tokens = 0;
  let chunks = 0;
  for (const { artifactKey } of await selectLiveArtifacts(sql, orgId, bucketId, SAMPLE_DOCUMENTS)) {
    const artifact = await readArtifact(objects, artifactKey).catch(() => null);
    for (const chunk of artifact?.chunks ?? []) {
      tokens += chunk.token_count;
      chunks++;
    }
  }
  return chunks === 0 ? 0 : tokens / chunks;
}

function emptyBucket(name: string) {
  return conflict(
    `bucket ${name} has no searchable documents to embed again; the model of the routing embeds the first document that you upload to it`,
    'index_empty',
  );
}
