import type { Table } from '@lancedb/lancedb';
import pLimit, { type LimitFunction } from 'p-limit';
import type { WeightedTerms } from '../language/analyser.ts';
import type { SpelledWord } from '../language/spelled-words.ts';
import { answerWithin } from '../platform/answer-within.ts';
import { dependencyDown } from '../platform/errors.ts';
import { type ChunkSource, joinSources } from './chunk-source.ts';
import { copySource } from './copies/copy-source.ts';
import type { TableCopies } from './copies/table-copies.ts';
import type { IndexTable } from './index-store.ts';
import type { LanceTables } from './lance/lance.ts';
import { type ReadCandidate, searchKeywords, searchVectors } from './lance/legs.ts';

/** Tables of LanceDB that are searched at a time. */
const TABLES_AT_ONCE = 20;
/** Time in which a query of a table must end: one without an index, of 1,000,000 rows, takes some seconds. */
const QUERY_MS_MAX = 60_000;

/**
 * Open the indexes of buckets as one source: the copy in memory of each if there is one at its version, otherwise the
 * table. Null: none of the tables exists.
 *
 * @param context.resident null: only the tables are to be used
 * @param context.ownTerms terms that replace those of the query in a table, by its name
 * @param context.spelled words of the query that may be corrected; they are corrected only if all indexes are in memory
 * @throws AppError `index_unavailable` (503)
 */
export async function openSource(
  context: {
    readonly tables: LanceTables;
    readonly resident: TableCopies | null;
    readonly ownTerms?: ReadonlyMap<string, readonly WeightedTerms[]>;
    readonly spelled?: readonly SpelledWord[];
  },
  indexTables: readonly IndexTable[],
): Promise<ChunkSource | null> {
  const { tables, resident, ownTerms = new Map(), spelled = [] } = context;
  const found = await Promise.all(
    indexTables.map(async ({ name, version }) => {
      const open = () => tables.openForReading(name, version);
      const copy = (await resident?.find(name, version, open)) ?? null;
      return { name, copy, table: copy === null ? await open() : null };
    }),
  );
  const copies = found.flatMap(({ copy }) => copy ?? []);
  const opened = found.flatMap(({ name, table }) => (table === null ? [] : [{ name, table }]));
  const sources = opened.length === 0 ? [] : tableSources(tables, opened, ownTerms);
  if (resident !== null && copies.length > 0) {
    // A word that is unknown in memory may be in a table that is not.
    const isAllInMemory = opened.length === 0;
    sources.push(copySource(resident, copies, { ownTerms, spelled: isAllInMemory ? spelled : [] }));
  }
  return sources.length === 0 ? null : joinSources(sources);
}

function tableSources(
  tables: LanceTables,
  opened: readonly { readonly name: string; readonly table: Table }[],
  ownTerms: ReadonlyMap<string, readonly WeightedTerms[]>,
): ChunkSource[] {
  const withSlot = pLimit(TABLES_AT_ONCE);
  return opened.map(({ name, table }) => tableSource(tables, { table, ownTerms: ownTerms.get(name) }, withSlot));
}

function tableSource(
  tables: LanceTables,
  { table, ownTerms }: { table: Table; ownTerms: readonly WeightedTerms[] | undefined },
  withSlot: LimitFunction,
): ChunkSource {
  const passages = new Map<string, ReadCandidate>();
  const remember = (found: readonly ReadCandidate[]) => {
    for (const each of found) passages.set(each.chunkId, each);
    return found;
  };
  const query = async (start: () => Promise<readonly ReadCandidate[]>) =>
    remember(await withSlot(() => tables.mapErrors(endInTime(start()))));
  return {
    searchVectors: (vector, options) => query(() => searchVectors(table, vector, options)),
    searchKeywords: (terms, options) => query(() => searchKeywords(table, ownTerms ?? terms, options)),
    compareSample: null,
    corrections: () => [],
    readPassages: async (candidates) =>
      candidates.map((candidate) => {
        const { text, locator } = passages.get(candidate.chunkId) as ReadCandidate;
        return { ...candidate, text, locator };
      }),
  };
}

/** Await a query of LanceDB, in which reads of an index may wait for each other for ever. @throws AppError `index_unavailable` (503) */
export function endInTime<T>(query: Promise<T>, ms = QUERY_MS_MAX): Promise<T> {
  return answerWithin(ms, query, () =>
    dependencyDown('index', `the search index has not answered for ${ms / 1_000} s`),
  );
}
