import type { ChunkReader, ComparedRow } from '../index/chunk-index.ts';
import type { AnalysedQuery } from './analyse-query.ts';
import type { LiveDocuments } from './documents/live-documents.ts';
import type { PreparedQuery, QueryVector } from './prepare-query.ts';
import type { FoundChunk } from './rank.ts';
import { backgroundOf, type CosineBackground, meanCosineOf } from './relevance/background.ts';

/** Search whose results are judged. */
interface JudgedSearch {
  readonly documents: LiveDocuments;
  readonly query: Pick<AnalysedQuery, 'sequence'>;
  readonly hiding: ReadonlySet<string>;
}

/**
 * Gather the data for judging the results of a query: a sample of rows compared with the query, and the background of
 * its vector if a semantic model computed it.
 *
 * @param reader null if there are no rows
 */
export async function sampleBackground(
  search: JudgedSearch,
  reader: ChunkReader | null,
  query: { readonly embedding: Promise<QueryVector>; readonly preparing: Promise<PreparedQuery> },
) {
  if (reader === null) return { sample: [], background: null, meanCosine: null, kind: null };
  const [{ embedded }, { vector }] = await Promise.all([query.embedding, query.preparing]);
  const kind = vector === null ? null : (embedded?.kind ?? null);
  const compared = { vector: kind === 'semantic' ? vector : null, terms: [...new Set(search.query.sequence)] };
  const sample = await visibleOf(search, await reader.compareSample(compared));
  if (embedded === null || kind !== 'semantic') return { sample, background: null, meanCosine: null, kind };
  return { sample, background: backgroundOf(sample, embedded.model), meanCosine: meanCosineOf(sample), kind };
}

/**
 * Compute the cosines of chunks that only the keyword leg found, by chunk id. Without them, the estimate would depend
 * on the number of candidates. Chunks of documents without vectors have none.
 *
 * @param query.background null unless a semantic model computed the vector
 */
export async function readCosines(
  reader: ChunkReader | null,
  chunks: readonly FoundChunk[],
  query: { readonly background: CosineBackground | null; readonly preparing: Promise<PreparedQuery> },
): Promise<ReadonlyMap<string, number>> {
  const { vector } = await query.preparing;
  const lacking = chunks.filter(({ cosine, document }) => cosine === null && !document.isKeywordOnly);
  if (reader === null || vector === null || query.background === null || lacking.length === 0) return new Map();
  const cosines = await reader.readCosines(vector, lacking);
  return new Map(lacking.map(({ chunkId }, at) => [chunkId, cosines[at] as number]));
}

/** Remove the rows of documents that the caller may not see, if the buckets hide any. */
async function visibleOf(
  { documents, hiding }: JudgedSearch,
  sample: readonly ComparedRow[],
): Promise<readonly ComparedRow[]> {
  if (hiding.size === 0 || sample.length === 0) return sample;
  const live = await documents.findInBuckets([...new Set(sample.map(({ documentId }) => documentId))]);
  return sample.filter(({ documentId }) => live.has(documentId));
}
