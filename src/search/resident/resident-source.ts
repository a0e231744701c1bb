import type { WeightedTerms } from '../../language/analyser.ts';
import type { SpelledWord } from '../../language/spelled-words.ts';
import { best, type ChunkSource } from '../chunk-source.ts';
import type { Candidate, LegOptions } from '../legs.ts';
import type { ComparedRow } from '../relevance/background.ts';
import type { SampleQuery } from '../relevance/row-sample.ts';
import { SAMPLED_ROWS_MAX, SAMPLED_TABLES_MAX } from '../relevance/row-samples.ts';
import type { Correction } from './correct-words.ts';
import type { KeywordQuery, LegRows, RowText } from './protocol.ts';
import type { ResidentIndexes } from './resident-indexes.ts';
import type { ResidentThread } from './resident-thread.ts';
import type { TableCopy } from './table-copy.ts';

/** A copy was dropped from memory while it was searched; the search must be repeated on the table. */
export class ResidentGone extends Error {}

/** Words of a query that may be misspelled. */
export interface Spelling {
  readonly words: readonly SpelledWord[];
  /** Return false if the caller must not learn words of the indexes. */
  mayCorrect(): Promise<boolean>;
}

/** Row of a copy. */
interface Place {
  readonly copy: TableCopy;
  readonly row: number;
}

/**
 * Search copies of tables as one. Its methods throw `ResidentGone`.
 *
 * @param options.ownTerms terms that are searched in place of those of the query, by the name of the table
 */
export function residentSource(
  indexes: ResidentIndexes,
  copies: readonly TableCopy[],
  {
    ownTerms: ownTermsByName,
    spelling,
  }: { readonly ownTerms: ReadonlyMap<string, readonly WeightedTerms[]>; readonly spelling: Spelling | null },
): ChunkSource {
  const ownTerms = new Map(
    copies.flatMap(({ name, number }) => {
      const own = ownTermsByName.get(name);
      return own ? [[number, own] as const] : [];
    }),
  );
  const sampled = copies.slice(0, SAMPLED_TABLES_MAX);
  const places = new Map<string, Place>();
  /** Passages that legs have returned, by chunk. */
  const passages = new Map<string, RowText>();
  const byNumber = new Map(copies.map((copy) => [copy.number, copy]));
  const byThread = [...Map.groupBy(copies, ({ thread }) => thread)];
  const rows = copies.reduce((sum, { size }) => sum + size.rows, 0);
  const search = <Leg>(leg: (thread: ResidentThread, tables: readonly number[]) => Promise<Leg>): Promise<Leg[]> => {
    const found = byThread.map(([thread, own]) =>
      leg(
        thread,
        own.map(({ number }) => number),
      ),
    );
    return orGone(indexes, copies, Promise.all(found));
  };
  const candidatesOf = (legs: readonly LegRows[]) =>
    legs.flatMap((leg) => {
      for (const [at, chunkId] of leg.chunkIds.entries()) {
        const copy = byNumber.get(leg.tables[at] as number) as TableCopy;
        places.set(chunkId, { copy, row: leg.rows[at] as number });
        const text = leg.texts[at];
        if (text) passages.set(chunkId, text);
      }
      return toCandidates(leg);
    });
  const searchWords = (
    terms: readonly WeightedTerms[],
    { limit, documentIds, passages: texts = 0 }: LegOptions,
    own: Pick<KeywordQuery, 'words' | 'correct'>,
  ) =>
    search((thread, tables) => {
      const documents = thread.listOf(documentIds, rows);
      return thread.call('searchKeywords', { tables, documents, limit, texts, terms, ownTerms, ...own });
    });
  /** Words that are corrected, once a search has found out that there are any. */
  let misspelled: readonly SpelledWord[] = [];
  let corrections: readonly Correction[] = [];
  return {
    isInMemory: true,
    async searchVectors(vector, { limit, documentIds, passages: texts = 0 }) {
      const legs = await search((thread, tables) =>
        thread.call('searchVectors', { tables, documents: thread.listOf(documentIds, rows), limit, texts, vector }),
      );
      return best(candidatesOf(legs), limit);
    },
    async searchKeywords(terms, options) {
      if (terms.length === 0) return [];
      const isKnown = misspelled.length > 0;
      const words = isKnown ? misspelled : (spelling?.words ?? []);
      let legs = await searchWords(terms, options, { words, correct: isKnown });
      if (!isKnown && words.length > 0) {
        const unknown = words.filter(({ word }) => legs.every((leg) => leg.unknown.some((own) => own.word === word)));
        if (unknown.length > 0 && (await spelling?.mayCorrect())) {
          misspelled = unknown;
          legs = await searchWords(terms, options, { words: unknown, correct: true });
        }
      }
      corrections = legs.flatMap((leg) => leg.corrections);
      return best(candidatesOf(legs.map(({ rows }) => rows)), options.limit);
    },
    compareSample: sampled.every(isWholeSample)
      ? (query) => orGone(indexes, copies, compareSample(sampled, query))
      : null,
    corrections: () => corrections,
    async readPassages(candidates) {
      const missing = candidates.filter(({ chunkId }) => !passages.has(chunkId));
      if (missing.length > 0) {
        const wanted = missing.map(({ chunkId }) => places.get(chunkId) as Place);
        const texts = await orGone(indexes, copies, readTexts(wanted));
        for (const [at, { chunkId }] of missing.entries()) {
          const text = texts[at];
          if (!text) throw new ResidentGone('a chunk was removed from memory');
          passages.set(chunkId, text);
        }
      }
      return candidates.map((candidate) => ({ ...candidate, ...(passages.get(candidate.chunkId) as RowText) }));
    },
  };
}

/** Return true if all rows of a copy are its sample. A larger one takes longer to compare than a sample that is kept. */
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

/** Read texts in the order of their places, with one call to each thread. */
async function readTexts(places: readonly Place[]): Promise<(RowText | null)[]> {
  const texts: (RowText | null)[] = places.map(() => null);
  const byThread = Map.groupBy(places.keys(), (at) => (places[at] as Place).copy.thread);
  const readings = Array.from(byThread, async ([thread, own]) => {
    const found = await thread.call('readTexts', {
      tables: Uint32Array.from(own, (at) => (places[at] as Place).copy.number),
      rows: Uint32Array.from(own, (at) => (places[at] as Place).row),
    });
    for (const [nth, at] of own.entries()) texts[at] = found[nth] ?? null;
  });
  await Promise.all(readings);
  return texts;
}

/** @throws ResidentGone in place of any other error, which is reported */
async function orGone<T>(indexes: ResidentIndexes, copies: readonly TableCopy[], answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    indexes.noteFailedSearch(copies, cause);
    throw new ResidentGone('an index was dropped from memory', { cause });
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
