import type { WeightedTerms } from '../language/analyser.ts';
import type { Candidate, LegOptions, Passage } from './legs.ts';
import type { ComparedRow } from './relevance/background.ts';
import type { SampleQuery } from './relevance/row-sample.ts';
import type { Correction } from './resident/correct-words.ts';

/** Chunks of one or several buckets, each at one version of its index, as both legs search them. */
export interface ChunkSource {
  /** True if more candidates take hardly more time. */
  readonly isInMemory: boolean;
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
    isInMemory: sources.every((source) => source.isInMemory),
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
