import type { WeightedTerms } from '../language/analyser.ts';
import type { Correction } from '../resident/keywords/correct-words.ts';
import type { Candidate, LegOptions, Passage } from './lance/legs.ts';

/** Row of the sample of an index, compared with a query. */
export interface ComparedRow {
  readonly documentId: string;
  /** Cosine similarity of its vector to that of the query; null: the query has none. */
  readonly cosine: number | null;
  /** Terms of the query that it has. */
  readonly terms: ReadonlySet<string>;
}

/** Query that a sample is compared with. */
export interface SampleQuery {
  /** Float32Array [1024], L2-normalised; null: it has none, or it cannot be compared. */
  readonly vector: Float32Array | null;
  readonly terms: readonly string[];
}

/** Chunks of one or several buckets, each at one version of its index, as both legs search them. */
export interface ChunkSource {
  /** Find the nearest chunks by cosine similarity. `vector`: Float32Array [1024], L2-normalised. */
  searchVectors(vector: Float32Array, options: LegOptions): Promise<readonly Candidate[]>;
  /** Find chunks by BM25 over analysed text. `terms`: the query after `analyse` and `weighTerms`. */
  searchKeywords(terms: readonly WeightedTerms[], options: LegOptions): Promise<readonly Candidate[]>;
  /** Compare the rows of the first few tables with a query, which are their sample; null: it must be read from the tables. */
  readonly compareSample: ((query: SampleQuery) => Promise<ComparedRow[]>) | null;
  /** Words that the last search of keywords has replaced in a table. */
  corrections(): readonly Correction[];
  /** Read the passages of candidates of this source, in their order. */
  readPassages<C extends Candidate>(candidates: readonly C[]): Promise<(C & Passage)[]>;
}

/** Search several sources as one, of which no two have a chunk in common. */
export function joinSources(sources: readonly ChunkSource[]): ChunkSource {
  const [only] = sources;
  if (sources.length === 1 && only) return only;
  const sourceOf = new Map<string, ChunkSource>();
  const search = async (options: LegOptions, leg: (source: ChunkSource) => Promise<readonly Candidate[]>) => {
    const found = await Promise.all(
      sources.map(async (source) => {
        const candidates = await leg(source);
        for (const { chunkId } of candidates) sourceOf.set(chunkId, source);
        return candidates;
      }),
    );
    return best(found.flat(), options.limit);
  };
  return {
    searchVectors: (vector, options) => search(options, (source) => source.searchVectors(vector, options)),
    searchKeywords: (terms, options) => search(options, (source) => source.searchKeywords(terms, options)),
    compareSample: null,
    corrections: () => sources.flatMap((source) => source.corrections()),
    async readPassages<C extends Candidate>(candidates: readonly C[]) {
      const read = new Map<string, C & Passage>();
      const own = Map.groupBy(candidates, ({ chunkId }) => sourceOf.get(chunkId) as ChunkSource);
      const readings = Array.from(own, ([source, wanted]) => source.readPassages(wanted));
      for (const each of (await Promise.all(readings)).flat()) read.set(each.chunkId, each);
      return candidates.map(({ chunkId }) => read.get(chunkId) as C & Passage);
    },
  };
}

/** Take the best candidates; those of equal score by id. */
export function best(candidates: readonly Candidate[], limit: number): readonly Candidate[] {
  const sorted = candidates.toSorted((a, b) => b.score - a.score || (a.chunkId < b.chunkId ? -1 : 1));
  return sorted.slice(0, limit);
}
