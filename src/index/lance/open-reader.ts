import type { Table } from '@lancedb/lancedb';
import pLimit, { type LimitFunction } from 'p-limit';
import type { WeightedTerms } from '../../language/analyser.ts';
import { answerWithin } from '../../platform/answer-within.ts';
import { dependencyDown } from '../../platform/errors.ts';
import type { ChunkReader, ReadOptions, TableVersion } from '../chunk-index.ts';
import { readCopies } from '../copies/copy-reader.ts';
import type { TableCopies } from '../copies/table-copies.ts';
import { joinReaders, type PartReader } from '../join-readers.ts';
import type { RowSamples } from '../row-samples.ts';
import type { LanceTables } from './lance.ts';
import { type ReadCandidate, searchKeywords, searchVectors } from './legs.ts';
import { readCosines } from './read-table.ts';

/** Maximum number of LanceDB tables searched concurrently. */
const TABLES_AT_ONCE = 20;
/** Time limit for a query of a table. Without an index, 1,000,000 rows take some seconds. */
const QUERY_MS_MAX = 60_000;

/**
 * Open tables as one reader, each from its in-memory copy if one is at its version, otherwise from the table. Return
 * null if none of the tables exists.
 *
 * @param context.copies in-memory copies; null to use only the tables
 * @throws AppError `index_unavailable` (503)
 */
export async function openReader(
  context: { readonly tables: LanceTables; readonly copies: TableCopies | null; readonly samples: RowSamples },
  wanted: readonly TableVersion[],
  { ownTerms = new Map(), spelled = [] }: ReadOptions = {},
): Promise<ChunkReader | null> {
  const { tables, copies, samples } = context;
  const found = await Promise.all(
    wanted.map(async ({ name, version }) => {
      const open = () => tables.openForReading(name, version);
      const copy = (await copies?.find(name, version, open)) ?? null;
      return { name, copy, table: copy === null ? await open() : null };
    }),
  );
  const inMemory = found.flatMap(({ copy }) => copy ?? []);
  const onDisk = found.flatMap(({ name, table }) => (table === null ? [] : [{ name, table }]));
  if (inMemory.length + onDisk.length === 0) return null;
  const withSlot = pLimit(TABLES_AT_ONCE);
  const readers: PartReader[] = onDisk.map(({ name, table }) =>
    tableReader(tables, { table, ownTerms: ownTerms.get(name) }, withSlot),
  );
  // A word unknown to the copies may be in a table without a copy.
  const isAllInMemory = onDisk.length === 0;
  const copyReader =
    copies && inMemory.length > 0
      ? readCopies(copies, inMemory, { ownTerms, spelled: isAllInMemory ? spelled : [] })
      : null;
  if (copyReader) readers.push(copyReader);
  return {
    ...joinReaders(readers),
    compareSample: async (query) => {
      const compared = isAllInMemory ? await copyReader?.compareSample(query) : null;
      return compared ?? (await samples.read(wanted)).flatMap((sample) => sample.compare(query));
    },
  };
}

function tableReader(
  tables: LanceTables,
  { table, ownTerms }: { table: Table; ownTerms: readonly WeightedTerms[] | undefined },
  withSlot: LimitFunction,
): PartReader {
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
    corrections: () => [],
    readCosines: (vector, candidates) =>
      withSlot(() => tables.mapErrors(endInTime(readCosines(table, vector, candidates)))),
    readPassages: async (candidates) =>
      candidates.map((candidate) => {
        const { text, locator } = passages.get(candidate.chunkId) as ReadCandidate;
        return { ...candidate, text, locator };
      }),
  };
}

/**
 * Await a LanceDB query with a time limit, since its index reads can deadlock. @throws AppError `index_unavailable`
 * (503)
 */
export function endInTime<T>(query: Promise<T>, ms = QUERY_MS_MAX): Promise<T> {
  return answerWithin(ms, query, () =>
    dependencyDown('index', `the search index has not answered for ${ms / 1_000} s`),
  );
}
