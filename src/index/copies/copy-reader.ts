import type { WeightedTerms } from '../../language/analyser.ts';
import type { SpelledWord } from '../../language/spelled-words.ts';
import type { Correction } from '../../resident/keywords/correct-words.ts';
import type { KeywordQuery, LegRows, RowPlaces } from '../../resident/protocol.ts';
import type { ResidentThread } from '../../resident/resident-thread.ts';
import type { Candidate, ComparedRow, LegOptions, SampleQuery } from '../chunk-index.ts';
import { ReaderGone } from '../chunk-index.ts';
import { best, type PartReader } from '../join-readers.ts';
import { SAMPLED_ROWS_MAX, SAMPLED_TABLES_MAX } from '../row-samples.ts';
import type { TableCopies } from './table-copies.ts';
import type { TableCopy } from './table-copy.ts';

/** Reader of copies that can also compare a sample; null if a copy has more rows than a sample. */
interface CopyReader extends PartReader {
  compareSample(query: SampleQuery): Promise<readonly ComparedRow[] | null>;
}

/** Row of a copy. */
interface Place {
  readonly copy: TableCopy;
  readonly row: number;
}

/**
 * Search copies of tables as one. Methods throw `ReaderGone`.
 *
 * @param options.ownTerms replacement query terms per table, by table name
 * @param options.spelled query words to correct if no copy contains them
 */
export function readCopies(
  owner: TableCopies,
  copies: readonly TableCopy[],
  options: {
    readonly ownTerms: ReadonlyMap<string, readonly WeightedTerms[]>;
    readonly spelled: readonly SpelledWord[];
  },
): CopyReader {
  const ownTerms = new Map<number, readonly WeightedTerms[]>();
  for (const { name, number } of copies) {
    const own = options.ownTerms.get(name);
    if (own) ownTerms.set(number, own);
  }
  const sampled = copies.slice(0, SAMPLED_TABLES_MAX);
  const places = new Map<string, Place>();
  const byNumber = new Map(copies.map((copy) => [copy.number, copy]));
  const byThread = [...Map.groupBy(copies, ({ thread }) => thread)];
  const search = <Leg>(leg: (thread: ResidentThread, tables: readonly number[]) => Promise<Leg>): Promise<Leg[]> => {
    const found = byThread.map(([thread, own]) => {
      const tables = own.map(({ number }) => number);
      return leg(thread, tables);
    });
    return orGone(owner, copies, Promise.all(found));
  };
  const candidatesOf = (legs: readonly LegRows[]) =>
    legs.flatMap((leg) => {
      for (const [at, chunkId] of leg.chunkIds.entries()) {
        const copy = byNumber.get(leg.tables[at] as number) as TableCopy;
        places.set(chunkId, { copy, row: leg.rows[at] as number });
      }
      return toCandidates(leg);
    });
  const searchWords = (
    terms: readonly WeightedTerms[],
    options: LegOptions,
    own: Pick<KeywordQuery, 'words' | 'correct'>,
  ) => search((thread, tables) => thread.call('searchKeywords', { ...options, ...own, tables, terms, ownTerms }));
  /** Query words that no copy contains, set by a search that found this out. */
  let misspelled: readonly SpelledWord[] = [];
  let corrections: readonly Correction[] = [];
  return {
    async searchVectors(vector, options) {
      const legs = await search((thread, tables) => thread.call('searchVectors', { ...options, tables, vector }));
      return best(candidatesOf(legs), options.limit);
    },
    async searchKeywords(terms, legOptions) {
      if (terms.length === 0) return [];
      const isKnown = misspelled.length > 0;
      const words = isKnown ? misspelled : options.spelled;
      let legs = await searchWords(terms, legOptions, { words, correct: isKnown });
      if (!isKnown && words.length > 0) {
        misspelled = words.filter(({ word }) => legs.every((leg) => leg.misspelled.some((own) => own.word === word)));
        if (misspelled.length > 0) legs = await searchWords(terms, legOptions, { words: misspelled, correct: true });
      }
      corrections = legs.flatMap((leg) => leg.corrections);
      return best(candidatesOf(legs.map(({ rows }) => rows)), legOptions.limit);
    },
    compareSample: async (query) =>
      sampled.every(isWholeSample) ? orGone(owner, copies, compareSample(sampled, query)) : null,
    corrections: () => corrections,
    async readCosines(vector, candidates) {
      const wanted = candidates.map(({ chunkId }) => places.get(chunkId) as Place);
      return orGone(
        owner,
        copies,
        readAt(wanted, (thread, at) => thread.call('readCosines', { vector, ...at })),
      );
    },
    async readPassages(candidates) {
      const wanted = candidates.map(({ chunkId }) => places.get(chunkId) as Place);
      const texts = await orGone(
        owner,
        copies,
        readAt(wanted, (thread, at) => thread.call('readTexts', at)),
      );
      return candidates.map((candidate, at) => {
        const text = texts[at];
        if (!text) throw new ReaderGone('a chunk was removed from memory');
        return { ...candidate, ...text };
      });
    },
  };
}

/** Return true if the copy is no larger than a sample. For a larger copy, comparing a stored sample is faster. */
function isWholeSample({ size }: TableCopy): boolean {
  return size.rows - size.removedRows <= SAMPLED_ROWS_MAX;
}

async function compareSample(copies: readonly TableCopy[], { vector, terms }: SampleQuery): Promise<ComparedRow[]> {
  const compared = copies.map(async ({ thread, number }) => {
    const compared = await thread.call('compareAll', { table: number, vector, terms });
    const { documentIds, cosines, terms: matches } = compared;
    return documentIds.map((documentId, row) => ({
      documentId,
      cosine: cosines?.[row] ?? null,
      terms: new Set(terms.filter((_, nth) => matches[row * terms.length + nth] === 1)),
    }));
  });
  return (await Promise.all(compared)).flat();
}

/** Read values for places, in their order, with one call per thread. */
async function readAt<T>(
  places: readonly Place[],
  call: (thread: ResidentThread, at: RowPlaces) => Promise<ArrayLike<T>>,
): Promise<T[]> {
  const values: T[] = [];
  const byThread = Map.groupBy(places.keys(), (at) => (places[at] as Place).copy.thread);
  const readings = Array.from(byThread, async ([thread, own]) => {
    const found = await call(thread, {
      tables: Uint32Array.from(own, (at) => (places[at] as Place).copy.number),
      rows: Uint32Array.from(own, (at) => (places[at] as Place).row),
    });
    for (const [nth, at] of own.entries()) values[at] = found[nth] as T;
  });
  await Promise.all(readings);
  return values;
}

/** @throws ReaderGone in place of any other error, which is reported */
async function orGone<T>(owner: TableCopies, copies: readonly TableCopy[], answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    owner.noteFailedSearch(copies, cause);
    throw new ReaderGone('an index was dropped from memory', { cause });
  }
}

function toCandidates(found: LegRows): Candidate[] {
  return found.chunkIds.map((chunkId, at) => ({
    chunkId,
    documentId: found.documentIds[at] as string,
    generation: found.generations[at] as number,
    chunkIndex: found.chunkIndexes[at] as number,
    isBoilerplate: found.boilerplate[at] === 1,
    score: found.scores[at] as number,
  }));
}
