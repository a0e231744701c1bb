import type { Table } from '@lancedb/lancedb';
import pLimit, { type LimitFunction } from 'p-limit';
import type { WeightedTerms } from '../language/analyser.ts';
import { answerWithin } from '../platform/answer-within.ts';
import { dependencyDown } from '../platform/errors.ts';
import { type ChunkSource, joinSources } from './chunk-source.ts';
import type { IndexTable } from './index-store.ts';
import type { LanceTables } from './lance.ts';
import { type ReadCandidate, searchKeywords, searchVectors } from './legs.ts';
import type { ResidentIndexes } from './resident/resident-indexes.ts';
import { residentSource, type Spelling } from './resident/resident-source.ts';

/** Tables of LanceDB that are searched at a time. */
const TABLES_AT_ONCE = 20;
/** Time in which a query of a table must end: one without an index, of 1,000,000 rows, takes some seconds. */
const QUERY_MS_MAX = 60_000;

/**
 * Open the indexes of buckets as one source: the copy in memory of each if there is one at its version, otherwise the
 * table. Null: none of the tables exists.
 *
 * @param context.resident null: only the tables are to be used
 * @param context.spelling words that are corrected if all indexes are in memory; null: none
 * @param context.copyVersions is given the version of each copy in memory that is searched, by the name of the table
 * @param context.ownTerms terms that are searched in place of those of the query, by the name of the table
 * @throws AppError `index_unavailable` (503)
 */
export async function openSource(
  context: {
    readonly tables: LanceTables;
    readonly resident: ResidentIndexes | null;
    readonly copyVersions?: Map<string, number>;
    readonly ownTerms?: ReadonlyMap<string, readonly WeightedTerms[]>;
    readonly spelling?: Spelling | null;
  },
  indexTables: readonly IndexTable[],
): Promise<ChunkSource | null> {
  const { tables, resident, copyVersions, ownTerms = new Map(), spelling = null } = context;
  const found = await Promise.all(
    indexTables.map(async ({ name, version }) => {
      const open = () => tables.openForReading(name, version);
      const copy = (await resident?.find(name, version, open, tables.filesOf(name))) ?? null;
      if (copy !== null) copyVersions?.set(name, copy.version);
      return { name, copy, table: copy === null ? await open() : null };
    }),
  );
  const copies = found.flatMap(({ copy }) => copy ?? []);
  const opened = found.flatMap(({ name, table }) => (table === null ? [] : [{ name, table }]));
  const sources = opened.length === 0 ? [] : tableSources(tables, opened, ownTerms);
  // A word that is unknown in memory may be in a table that is not.
  const isAllInMemory = opened.length === 0;
  if (resident !== null && copies.length > 0)
    sources.push(residentSource(resident, copies, { ownTerms, spelling: isAllInMemory ? spelling : null }));
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
    isInMemory: false,
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
