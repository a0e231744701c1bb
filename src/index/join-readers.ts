import type { Candidate, ChunkReader, LegOptions, Passage } from './chunk-index.ts';

/** Reader of some of a search's tables. */
export type PartReader = Omit<ChunkReader, 'compareSample'>;

/** Combine several readers into one. No chunk may be in two of them. */
export function joinReaders(readers: readonly PartReader[]): PartReader {
  const [only] = readers;
  if (readers.length === 1 && only) return only;
  const readerOf = new Map<string, PartReader>();
  const search = async (options: LegOptions, leg: (reader: PartReader) => Promise<readonly Candidate[]>) => {
    const found = await Promise.all(
      readers.map(async (reader) => {
        const candidates = await leg(reader);
        for (const { chunkId } of candidates) readerOf.set(chunkId, reader);
        return candidates;
      }),
    );
    return best(found.flat(), options.limit);
  };
  return {
    searchVectors: (vector, options) => search(options, (reader) => reader.searchVectors(vector, options)),
    searchKeywords: (terms, options) => search(options, (reader) => reader.searchKeywords(terms, options)),
    corrections: () => readers.flatMap((reader) => reader.corrections()),
    async readCosines(vector, candidates) {
      const cosines = new Map<string, number>();
      const own = Map.groupBy(candidates, ({ chunkId }) => readerOf.get(chunkId) as PartReader);
      const readings = Array.from(own, async ([reader, wanted]) => {
        const read = await reader.readCosines(vector, wanted);
        for (const [at, { chunkId }] of wanted.entries()) cosines.set(chunkId, read[at] as number);
      });
      await Promise.all(readings);
      return candidates.map(({ chunkId }) => cosines.get(chunkId) as number);
    },
    async readPassages<C extends Candidate>(candidates: readonly C[]) {
      const read = new Map<string, C & Passage>();
      const own = Map.groupBy(candidates, ({ chunkId }) => readerOf.get(chunkId) as PartReader);
      const readings = Array.from(own, ([reader, wanted]) => reader.readPassages(wanted));
      for (const each of (await Promise.all(readings)).flat()) read.set(each.chunkId, each);
      return candidates.map(({ chunkId }) => read.get(chunkId) as C & Passage);
    },
  };
}

/** Return the best candidates. Order equal scores by id. */
export function best(candidates: readonly Candidate[], limit: number): readonly Candidate[] {
  const sorted = candidates.toSorted((a, b) => b.score - a.score || (a.chunkId < b.chunkId ? -1 : 1));
  return sorted.slice(0, limit);
}
