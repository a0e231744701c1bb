import type { WeightedTerms } from '../../language/analyser.ts';
import { BestRows } from './best-rows.ts';
import type { CandidateRows } from './candidate-rows.ts';
import { type Correction, correctWords, isUnknown } from './correct-words.ts';
import type { Resolved } from './document-list.ts';
import type { Allowed } from './keyword-rows.ts';
import { LargestNumbers } from './largest-numbers.ts';
import { ROWS_MAX } from './postings.ts';
import type { KeywordLeg, KeywordQuery, LegQuery, LegRows } from './protocol.ts';
import type { ResidentTable } from './resident-table.ts';

/** Table that is searched, and its rows that may be found. */
interface Searched {
  readonly number: number;
  readonly table: ResidentTable;
  readonly allowed: Allowed;
  /** Number of its first row among those of all tables. */
  readonly first: number;
}

/** Find the best rows of several tables by BM25, with the statistics of each table. */
export function searchKeywords(
  resident: ReadonlyMap<number, ResidentTable>,
  { terms, ownTerms, words, correct, ...query }: Resolved<KeywordQuery>,
): KeywordLeg {
  const searched = openTables(resident, query);
  const best = bestOf(searched, query.limit);
  const corrections: Correction[] = [];
  for (const { number, table, allowed, first } of searched) {
    const { keywords } = table;
    const own = correct ? correctWords(keywords, words) : [];
    corrections.push(...own);
    keywords.search(replaceTerms(ownTerms.get(number) ?? terms, own), allowed, { best, first });
  }
  const unknown = words.filter((word) => searched.every(({ table }) => isUnknown(table.keywords, word)));
  return { rows: toLegRows(searched, best, query.texts), unknown, corrections };
}

/** Put the terms of corrected words in the place of those that were replaced, with their weight. */
function replaceTerms(groups: readonly WeightedTerms[], corrections: readonly Correction[]): readonly WeightedTerms[] {
  if (corrections.length === 0) return groups;
  const present = new Set(groups.flatMap(({ terms }) => terms));
  return groups.map(({ terms, weight }) => ({
    weight,
    terms: corrections.reduce((own: readonly string[], { replaced, by }) => {
      if (!own.some((term) => replaced.includes(term))) return own;
      const added = by.filter((term) => !present.has(term) || replaced.includes(term));
      for (const term of added) present.add(term);
      return [...new Set([...own.filter((term) => !replaced.includes(term)), ...added])];
    }, terms),
  }));
}

/** Search by vectors, the first of whose tables is being scanned. */
export interface StartedSearch {
  /** True if helping threads scan, too. */
  readonly isHelped: boolean;
  /** True if `answer` scans no other table: the next search can be started before. */
  readonly isOneScan: boolean;
  /** Complete the scan. It must be called before another search is started. */
  finishScan(): void;
  /** Find the best rows for each vector. The tables must not have changed since the search was started. */
  answer(): LegRows[];
}

/**
 * Begin to find the best rows of several tables by cosine similarity, for several queries at once.
 *
 * @param vectors Float32Array [1024] each
 * @param firstSlot of the slots that they use up to the answer
 */
export function startVectorSearch(
  resident: ReadonlyMap<number, ResidentTable>,
  query: Resolved<LegQuery>,
  vectors: readonly Float32Array[],
  firstSlot = 0,
): StartedSearch {
  const searched = openTables(resident, query);
  const slots = { first: firstSlot, end: firstSlot + vectors.length };
  const queries = vectors.map((vector, nth) => {
    const slot = firstSlot + nth;
    searched[0]?.table.vectors.setQuery(slot, vector);
    return { slot, lowerBounds: new LargestNumbers(query.limit), best: bestOf(searched, query.limit) };
  });
  const few = searched.map(({ table: { vectors, rowCount }, allowed }) => {
    if (allowed) return listOnes(allowed, vectors.comparedMax);
    return rowCount <= vectors.comparedMax ? [...Array(rowCount).keys()] : null;
  });
  const scanned = searched.filter((_, at) => few[at] === null);
  const isHelped = scanned[0]?.table.vectors.start(slots, query.limit) ?? false;
  const answer = () => {
    const estimated: { each: Searched; candidates: CandidateRows[] }[] = [];
    for (const [at, each] of searched.entries()) {
      const { table, allowed, first } = each;
      const rows = few[at] as number[] | null;
      if (rows === null) {
        if (each !== scanned[0]) {
          table.vectors.start(slots, query.limit);
          table.vectors.finishScan();
        }
        estimated.push({ each, candidates: table.vectors.estimate(queries, allowed) });
      } else for (const { slot, best } of queries) table.vectors.offerRows(slot, rows, { best, first });
    }
    for (const { each, candidates } of estimated) {
      const { table, first } = each;
      for (const [nth, own] of queries.entries()) {
        table.vectors.offer(own, candidates[nth] as CandidateRows, { best: own.best, first });
      }
    }
    return queries.map(({ best }) => toLegRows(searched, best, query.texts));
  };
  return { isHelped, isOneScan: scanned.length <= 1, finishScan: () => scanned[0]?.table.vectors.finishScan(), answer };
}

/** @throws Error if a table is not there any more */
function openTables(
  resident: ReadonlyMap<number, ResidentTable>,
  { tables, documents }: Resolved<LegQuery>,
): Searched[] {
  return tables.map((number, at) => {
    const table = resident.get(number);
    if (!table) throw new Error('the table is not resident any more');
    const allowed = documents === null ? table.allowedRows(null) : documents.allowedRows(table);
    return { number, table, allowed, first: at * ROWS_MAX };
  });
}

function bestOf(searched: readonly Searched[], limit: number): BestRows {
  return new BestRows(limit, (row) => tableOf(searched, row).chunkIdOf(row % ROWS_MAX));
}

function tableOf(searched: readonly Searched[], row: number): ResidentTable {
  return (searched[Math.floor(row / ROWS_MAX)] as Searched).table;
}

function toLegRows(searched: readonly Searched[], best: BestRows, textsMax = 0): LegRows {
  const found = best.toSorted();
  const { length } = found;
  const documentIds: string[] = [];
  const chunkIds: string[] = [];
  const texts: LegRows['texts'][number][] = [];
  const leg: LegRows = {
    tables: new Uint32Array(length),
    rows: new Uint32Array(length),
    scores: new Float64Array(length),
    generations: new Float64Array(length),
    chunkIndexes: new Int32Array(length),
    boilerplate: new Uint8Array(length),
    ...{ documentIds, chunkIds, texts },
  };
  for (const [nth, { row: numbered, score }] of found.entries()) {
    const { number, table } = searched[Math.floor(numbered / ROWS_MAX)] as Searched;
    const row = numbered % ROWS_MAX;
    leg.tables[nth] = number;
    leg.rows[nth] = row;
    leg.scores[nth] = score;
    leg.generations[nth] = table.generationOf(row);
    leg.chunkIndexes[nth] = table.chunkIndexOf(row);
    leg.boilerplate[nth] = table.isBoilerplate(row) ? 1 : 0;
    documentIds.push(table.documentIdOf(row));
    chunkIds.push(table.chunkIdOf(row));
    if (nth < textsMax) texts.push(table.textOf(row));
  }
  return leg;
}

/** List the indexes that are 1; null if there are more than `limit`. */
function listOnes(flags: Uint8Array, limit: number): number[] | null {
  const ones: number[] = [];
  for (let at = 0; at < flags.length; at++) {
    if (flags[at] !== 1) continue;
    if (ones.length >= limit) return null;
    ones.push(at);
  }
  return ones;
}
