import type { WeightedTerms } from '../language/analyser.ts';
import { type Allowed, BestRows } from './best-rows.ts';
import { type Correction, correctWords, isMisspelled } from './keywords/correct-words.ts';
import { ROWS_MAX } from './keywords/postings.ts';
import type { KeywordLeg, KeywordQuery, LegQuery, LegRows, VectorQuery } from './protocol.ts';
import type { ResidentTable } from './resident-table.ts';

/** Table to search, with the rows that may be returned. */
interface Searched {
  readonly number: number;
  readonly table: ResidentTable;
  readonly allowed: Allowed;
  /** Offset of the table in the common row numbers: row `r` has the number `first + r`. */
  readonly first: number;
}

/** Find the best rows of several tables by BM25. Each table uses its own statistics. */
export function searchKeywords(
  resident: ReadonlyMap<number, ResidentTable>,
  { terms, ownTerms, words, correct, ...query }: KeywordQuery,
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
  const misspelled = words.filter((word) => searched.every(({ table }) => isMisspelled(table.keywords, word)));
  return { rows: toLegRows(searched, best), misspelled, corrections };
}

/** Replace the terms of misspelled words with their corrections. Keep the weight of each group. */
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

/** Find the best rows of several tables by cosine similarity. `vector`: Float32Array [1024] */
export function searchVectors(
  resident: ReadonlyMap<number, ResidentTable>,
  { vector, ...query }: VectorQuery,
): LegRows {
  const searched = openTables(resident, query);
  const best = bestOf(searched, query.limit);
  for (const { table, allowed, first } of searched) table.vectors.search(vector, allowed, { best, first });
  return toLegRows(searched, best);
}

/** Look up the tables, and number their rows consecutively. @throws Error if a table was dropped */
function openTables(resident: ReadonlyMap<number, ResidentTable>, { tables, documentIds }: LegQuery): Searched[] {
  return tables.map((number, at) => {
    const table = resident.get(number);
    if (!table) throw new Error('the table is not resident any more');
    return { number, table, allowed: table.allowedRows(documentIds), first: at * ROWS_MAX };
  });
}

function bestOf(searched: readonly Searched[], limit: number): BestRows {
  return new BestRows(limit, (row) => tableOf(searched, row).chunkIdOf(row % ROWS_MAX));
}

function tableOf(searched: readonly Searched[], row: number): ResidentTable {
  return (searched[Math.floor(row / ROWS_MAX)] as Searched).table;
}

function toLegRows(searched: readonly Searched[], best: BestRows): LegRows {
  const found = best.toSorted();
  const { length } = found;
  const documentIds: string[] = [];
  const chunkIds: string[] = [];
  const leg: LegRows = {
    tables: new Uint32Array(length),
    rows: new Uint32Array(length),
    scores: new Float64Array(length),
    generations: new Float64Array(length),
    chunkIndexes: new Int32Array(length),
    boilerplate: new Uint8Array(length),
    documentIds,
    chunkIds,
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
  }
  return leg;
}
