import type { FullTextQuery, Query, Table, VectorQuery } from '@lancedb/lancedb';
import type { WeightedTerms } from '../../language/analyser.ts';
import { BOILERPLATE } from '../boilerplate.ts';
import type { Candidate, LegOptions, Passage } from '../chunk-index.ts';
import { quoteId } from '../quote-id.ts';
import { loadLance } from './load-lance.ts';
import { throughIndex } from './vector-index.ts';

/** Candidate read from index files, with its passage. */
export type ReadCandidate = Candidate & Passage;

const COLUMNS = ['chunk_id', 'document_id', 'generation', 'chunk_index', 'text', 'locator'];

/**
 * Find the nearest chunks by cosine similarity. `vector`: Float32Array [1024], L2-normalised like all vectors of the
 * index.
 */
export async function searchVectors(table: Table, vector: Float32Array, options: LegOptions): Promise<ReadCandidate[]> {
  return toCandidates(await vectorQuery(table, vector, options).toArrow(), '_distance', (distance) => 1 - distance);
}

/** Build the LanceDB query of `searchVectors`. */
export function vectorQuery(table: Table, vector: Float32Array, { limit, documentIds }: LegOptions): VectorQuery {
  const query = throughIndex(table.vectorSearch(vector).column('vector'))
    // For unit vectors this equals cosine, in less than half the time.
    .distanceType('dot')
    .limit(limit)
    .select([...COLUMNS, '_distance']);
  return documentIds ? query.where(membership(documentIds)) : query;
}

/** Find chunks by BM25 over analysed text. `terms`: the query after `analyse` and `weighTerms`. */
export async function searchKeywords(
  table: Table,
  terms: readonly WeightedTerms[],
  options: LegOptions,
): Promise<ReadCandidate[]> {
  if (terms.length === 0) return [];
  return toCandidates(await keywordQuery(table, terms, options).toArrow(), '_score', (score) => score);
}

/** Build the LanceDB query of `searchKeywords`. */
export function keywordQuery(table: Table, terms: readonly WeightedTerms[], { limit, documentIds }: LegOptions): Query {
  const query = table
    .query()
    .fullTextSearch(matchAny(terms))
    .limit(limit)
    .select([...COLUMNS, '_score']);
  return documentIds ? query.where(membership(documentIds)) : query;
}

function matchAny(groups: readonly WeightedTerms[]): FullTextQuery {
  const { BooleanQuery, MatchQuery, Occur } = loadLance();
  const queries = groups.map(({ terms, weight }) => new MatchQuery(terms.join(' '), 'tokens', { boost: weight }));
  const [only] = queries;
  return queries.length === 1 && only ? only : new BooleanQuery(queries.map((query) => [Occur.Should, query]));
}

type ArrowTable = Awaited<ReturnType<ReturnType<Table['query']>['toArrow']>>;

function toCandidates(rows: ArrowTable, scoreColumn: string, toScore: (value: number) => number): ReadCandidate[] {
  const column = (name: string) => rows.getChild(name);
  const [chunkId, documentId, generation, chunkIndex, text, locator] = COLUMNS.map(column);
  const score = column(scoreColumn);
  const candidates = Array.from({ length: rows.numRows }, (_, row) => ({
    chunkId: chunkId?.get(row) as string,
    documentId: documentId?.get(row) as string,
    generation: Number(generation?.get(row)),
    chunkIndex: chunkIndex?.get(row) as number,
    text: text?.get(row) as string,
    locator: locator?.get(row) as string,
    isBoilerplate: String(locator?.get(row)).includes(BOILERPLATE),
    score: toScore(score?.get(row) as number),
  }));
  // LanceDB returns the best rows in any order, and rows of equal score in a different order each time.
  return candidates.sort((a, b) => b.score - a.score || (a.chunkId < b.chunkId ? -1 : 1));
}

/** Render the condition that a row belongs to one of these documents. */
export function membership(documentIds: readonly string[]): string {
  return `document_id IN (${documentIds.map(quoteId).join(', ')})`;
}
