import { best, type ChunkSource } from '../chunk-source.ts';
import type { Candidate } from '../legs.ts';
import type { LegRows, RowText } from './protocol.ts';
import type { ResidentIndexes } from './resident-indexes.ts';
import type { ResidentThread } from './resident-thread.ts';
import type { TableCopy } from './table-copy.ts';

/** A copy was dropped from memory while it was searched; the search must be repeated on the table. */
export class ResidentGone extends Error {}

/** Row of a copy. */
interface Place {
  readonly copy: TableCopy;
  readonly row: number;
}

/** Search copies of tables as one. Its methods throw `ResidentGone`. */
export function residentSource(indexes: ResidentIndexes, copies: readonly TableCopy[]): ChunkSource {
  const places = new Map<string, Place>();
  const byNumber = new Map(copies.map((copy) => [copy.number, copy]));
  const byThread = [...Map.groupBy(copies, ({ thread }) => thread)];
  const search = async (leg: (thread: ResidentThread, tables: readonly number[]) => Promise<LegRows>) => {
    const found = byThread.map(([thread, own]) =>
      leg(
        thread,
        own.map(({ number }) => number),
      ),
    );
    const rows = await orGone(indexes, copies, Promise.all(found));
    return rows.flatMap((leg) => {
      for (const [at, chunkId] of leg.chunkIds.entries()) {
        const copy = byNumber.get(leg.tables[at] as number) as TableCopy;
        places.set(chunkId, { copy, row: leg.rows[at] as number });
      }
      return toCandidates(leg);
    });
  };
  return {
    isInMemory: true,
    searchVectors: async (vector, { limit, documentIds }) =>
      best(
        await search((thread, tables) => thread.call('searchVectors', { tables, documentIds, limit, vector })),
        limit,
      ),
    async searchKeywords(terms, { limit, documentIds }) {
      if (terms.length === 0) return [];
      return best(
        await search((thread, tables) => thread.call('searchKeywords', { tables, documentIds, limit, terms })),
        limit,
      );
    },
    async readPassages(candidates) {
      const wanted = candidates.map((candidate) => places.get(candidate.chunkId) as Place);
      const passages = await orGone(indexes, copies, readTexts(wanted));
      return candidates.map((candidate, at) => {
        const passage = passages[at];
        if (!passage) throw new ResidentGone('a chunk was removed from memory');
        return { ...candidate, ...passage };
      });
    },
  };
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

/** @throws ResidentGone in place of any other error; copies of an ended thread are dropped */
async function orGone<T>(indexes: ResidentIndexes, copies: readonly TableCopy[], answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (cause) {
    for (const copy of copies) if (copy.thread.isEnded) indexes.forget(copy);
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
