import { awaitLater } from '../platform/await-later.ts';
import type { ChunkSource } from './chunk-source.ts';
import type { LiveDocuments } from './documents/live-documents.ts';
import type { IndexTable } from './index-store.ts';
import type { LanceTables } from './lance.ts';
import type { PreparedQuery, QueryVector } from './prepare-query.ts';
import type { ComparedRow } from './relevance/background.ts';
import { backgroundOfQuery } from './relevance/judge.ts';
import type { RowSample, SampleQuery } from './relevance/row-sample.ts';
import type { RowSamples } from './relevance/row-samples.ts';

/** Search whose results are judged. */
interface JudgedSearch {
  readonly tables: LanceTables;
  readonly samples: RowSamples;
  readonly documents: LiveDocuments;
  /** Analysed terms of the query. */
  readonly sequence: readonly string[];
  readonly hiding: Promise<ReadonlySet<string>>;
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
  const compared = { vector: embedded && vector, terms: [...new Set(search.sequence)] };
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
  if ((await hiding).size === 0 || sample.length === 0) return sample;
  const live = await documents.findInBuckets([...new Set(sample.map(({ documentId }) => documentId))]);
  return sample.filter(({ documentId }) => live.has(documentId));
}
