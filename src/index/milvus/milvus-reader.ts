import type { SearchSimpleReq } from '@zilliz/milvus2-sdk-node';
import type { WeightedTerms } from '../../language/analyser.ts';
import { type Candidate, type LegOptions, ReaderGone } from '../chunk-index.ts';
import type { PartReader } from '../join-readers.ts';
import { VERSION_KEY } from './collections.ts';
import { writeQuery } from './encode-terms.ts';
import type { MilvusConnection } from './milvus-connection.ts';
import { isOfDocuments, keysOf, readCosines, readPassages } from './read-rows.ts';

const COLUMNS = ['chunk_id', 'document_id', 'generation', 'chunk_index', 'is_boilerplate'];

/**
 * Create the reader of one collection. Strong consistency makes it find all rows written before the search began.
 *
 * @param ownTerms replacement query terms
 */
export function collectionReader(
  connection: MilvusConnection,
  name: string,
  ownTerms: readonly WeightedTerms[] | undefined,
): PartReader {
  const search = async (
    leg: Partial<SearchSimpleReq>,
    { limit, documentIds }: LegOptions,
    scoreOf = (score: number) => score,
  ) => {
    const filter = documentIds === null ? {} : { filter: isOfDocuments(documentIds) };
    // Fetch one more, since the version's row, with cosine 0, may be among the nearest.
    const request = { collection_name: name, ...leg, limit: limit + 1, output_fields: COLUMNS, ...filter };
    const { results } = await connection.callLoaded(name, (client) => client.search(request));
    const candidates = results.flatMap((row): Candidate[] => {
      if (row['chunk_id'] === VERSION_KEY) return [];
      return [{ ...keysOf(row), isBoilerplate: row['is_boilerplate'] as boolean, score: scoreOf(row.score) }];
    });
    candidates.sort((a, b) => b.score - a.score || (a.chunkId < b.chunkId ? -1 : 1));
    return candidates.slice(0, limit);
  };
  return {
    searchVectors: (vector, options) =>
      search({ anns_field: 'vector', metric_type: 'IP', data: Array.from(vector) }, options),
    async searchKeywords(terms, options) {
      const { text, scale } = writeQuery(ownTerms ?? terms);
      if (text === '') return [];
      // Milvus Lite 3.2 returns negated scores. Real scores are never negative.
      return search(
        { anns_field: 'terms', metric_type: 'BM25', data: text },
        options,
        (score) => Math.abs(score) / scale,
      );
    },
    corrections: () => [],
    async readCosines(vector, candidates) {
      const cosines = await readCosines(connection, name, vector, chunkIdsOf(candidates));
      return candidates.map(({ chunkId }) => cosines.get(chunkId) ?? gone());
    },
    async readPassages(candidates) {
      const passages = await readPassages(connection, name, chunkIdsOf(candidates));
      return candidates.map((candidate) => ({ ...candidate, ...(passages.get(candidate.chunkId) ?? gone()) }));
    },
  };
}

function chunkIdsOf(candidates: readonly Candidate[]): string[] {
  return candidates.map(({ chunkId }) => chunkId);
}

/** Throw for a search whose chunk was removed after it was found. */
function gone(): never {
  throw new ReaderGone();
}
