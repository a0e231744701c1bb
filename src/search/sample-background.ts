import type { ChunkSource, ComparedRow, SampleQuery } from '../index/chunk-source.ts';
import type { IndexTable } from '../index/index-store.ts';
import type { LanceTables } from '../index/lance/lance.ts';
import type { RowSample } from '../index/lance/row-sample.ts';
import type { RowSamples } from '../index/lance/row-samples.ts';
import { awaitLater } from '../platform/await-later.ts';
import type { AnalysedQuery } from './analyse-query.ts';
import type { LiveDocuments } from './documents/live-documents.ts';
import type { PreparedQuery, QueryVector } from './prepare-query.ts';
import { backgroundOfQuery } from './relevance/judge.ts';

/** Search whose results are judged. */
interface JudgedSearch {
  readonly tables: LanceTables;
  readonly samples: RowSamples;
  readonly documents: LiveDocuments;
  readonly query: Pick<AnalysedQuery, 'sequence'>;
  readonly hiding: ReadonlySet<string>;
}

/**
 * Find what the results of a query are judged by: a sample of the rows, compared with the query, and the background of its
 * vector.
 *
 * @param source null: there are no rows
 */
export async function sampleBackground(
  search: JudgedSearch,
  source: ChunkSource | null,
  indexTables: readonly IndexTable[],
  query: { readonly embedding: Promise<QueryVector>; readonly preparing: Promise<PreparedQuery> },
) {
  if (source === null) return { sample: [], background: null, kind: null };
  const reading = source.compareSample ? null : awaitLater(search.samples.read(search.tables, indexTables));
  const [{ embedded }, { vector }] = await Promise.all([query.embedding, query.preparing]);
  const compared = { vector: embedded && vector, terms: [...new Set(search.query.sequence)] };
  const rows = await (source.compareSample?.(compared) ?? compareEach(await reading, compared));
  const sample = await visibleOf(search, rows);
  if (embedded === null || vector === null) return { sample, background: null, kind: null };
  return { sample, background: backgroundOfQuery(embedded.kind, sample), kind: embedded.kind };
}

function compareEach(samples: readonly RowSample[] | null, query: SampleQuery): ComparedRow[] {
  return (samples ?? []).flatMap((sample) => sample.compare(query));
}

/** Leave out the rows of documents that the caller may not see, where the buckets hide any. */
async function visibleOf(
  { documents, hiding }: JudgedSearch,
  sample: readonly ComparedRow[],
): Promise<readonly ComparedRow[]> {
  if (hiding.size === 0 || sample.length === 0) return sample;
  const live = await documents.findInBuckets([...new Set(sample.map(({ documentId }) => documentId))]);
  return sample.filter(({ documentId }) => live.has(documentId));
}
