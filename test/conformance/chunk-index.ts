import { expect, test } from 'vitest';
import { embedLexical, embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import {
  type ChunkIndex,
  type ChunkReader,
  type IndexedChunk,
  type IndexedGeneration,
  ReaderGone,
  type ReadOptions,
  type TableVersion,
} from '../../src/index/chunk-index.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { until } from '../support/until.ts';

const EVERYTHING = { limit: 100, documentIds: null };

/** Make a generation of one document, one chunk per text. */
function makeGeneration(documentId: string, generation: number, texts: readonly string[]): IndexedGeneration {
  return {
    vectors: embedLexicalPassages(texts),
    chunks: texts.map((text, chunkIndex) => ({
      chunkId: `${documentId}_${generation}_${chunkIndex}`,
      documentId,
      generation,
      collectionId: null,
      chunkIndex,
      text,
      tokens: analyse(text).join(' '),
      locator: { page: chunkIndex + 1, heading_path: [], start: 0, end: text.length },
      modality: 'text',
      privacyLevel: 1,
      eventTimeMs: null,
    })),
  };
}

/**
 * Define the tests that every driver of `ChunkIndex` passes.
 *
 * @param open returns the index of this process, and that of another process with the same tables
 */
export function describeChunkIndex(open: () => { readonly own: ChunkIndex; readonly other: ChunkIndex }): void {
  let tables = 0;
  const newTable = () => `bkt_conform${++tables}`;

  /** Search one table by keywords in an index; repeat the search if the reader is gone. */
  async function findIds(index: ChunkIndex, table: TableVersion, query: string, options: ReadOptions = {}) {
    const found = await read(
      index,
      table,
      (reader) => reader.searchKeywords(weighTerms(analyse(query)), EVERYTHING),
      options,
    );
    return (found ?? []).map(({ chunkId }) => chunkId).sort();
  }

  async function read<T>(
    index: ChunkIndex,
    table: TableVersion,
    use: (reader: ChunkReader) => Promise<T>,
    options: ReadOptions = {},
  ): Promise<T | null> {
    for (;;) {
      const reader = await index.open([table], options);
      try {
        return reader && (await use(reader));
      } catch (error) {
        if (!(error instanceof ReaderGone)) throw error;
      }
    }
  }

  test('a table that was never written is not opened, and has no statistics', async () => {
    const { own } = open();
    const table = { name: newTable(), version: 1 };
    expect(await own.open([table])).toBeNull();
    expect(await own.statistics(table)).toBeNull();
  });

  test('what was appended is found at its version, in this process and in another one', async () => {
    const { own, other } = open();
    const name = newTable();
    const first = await own.append(name, [makeGeneration('doc_1', 1, ['a heron fishes', 'a heron nests'])]);
    const second = await own.append(name, [makeGeneration('doc_2', 2, ['a heron flies'])]);
    expect(second.version).toBeGreaterThan(first.version);
    expect(await own.version(name)).toBe(second.version);
    for (const index of [own, other]) {
      expect(await findIds(index, second, 'heron')).toEqual(['doc_1_1_0', 'doc_1_1_1', 'doc_2_2_0']);
    }
    const third = await other.append(name, [makeGeneration('doc_3', 3, ['a heron sleeps'])]);
    for (const index of [own, other]) expect(await findIds(index, third, 'heron')).toHaveLength(4);
    expect(await own.countByGeneration(name)).toEqual(
      new Map([
        [1, 2],
        [2, 1],
        [3, 1],
      ]),
    );
  });

  test('both legs are ordered by score, are limited, and keep to a list of documents', async () => {
    const { own } = open();
    const name = newTable();
    const generations = Array.from({ length: 30 }, (_, nth) =>
      makeGeneration(`doc_${nth}`, nth + 1, [`heron number ${nth} ${'among reeds '.repeat(nth % 7)}`]),
    );
    await own.append(name, generations);
    // LanceDB 0.31 may miss rows that are not in its keyword index yet.
    const table = await own.settle(name);
    const terms = weighTerms(analyse('heron reeds'));
    const vector = embedLexical(['heron among reeds']).slice();
    for (const documentIds of [null, ['doc_3', 'doc_13', 'doc_absent']]) {
      const legs = await read(own, table, (reader) =>
        Promise.all([
          reader.searchKeywords(terms, { limit: 5, documentIds }),
          reader.searchVectors(vector, { limit: 5, documentIds }),
        ]),
      );
      for (const leg of legs ?? []) {
        expect(leg).toHaveLength(documentIds === null ? 5 : 2);
        const scores = leg.map(({ score }) => score);
        expect(scores).toEqual(scores.toSorted((a, b) => b - a));
        if (documentIds) expect(leg.map(({ documentId }) => documentId).sort()).toEqual(['doc_13', 'doc_3']);
      }
    }
    expect(await read(own, table, (reader) => reader.searchKeywords([], EVERYTHING))).toEqual([]);
  });

  test('the vector leg gives cosines, the nearest first', async () => {
    const { own } = open();
    const texts = ['the boiler is cleaned in spring', 'herons nest in reeds', 'an invoice is due in June'];
    const table = await own.append(newTable(), [makeGeneration('doc_1', 1, texts)]);
    const vectors = embedLexicalPassages(texts);
    for (const [nth] of texts.entries()) {
      const vector = vectors.slice(nth * 1_024, (nth + 1) * 1_024);
      const leg = (await read(own, table, (reader) => reader.searchVectors(vector, EVERYTHING))) ?? [];
      expect(leg[0]).toMatchObject({ documentId: 'doc_1', generation: 1, chunkIndex: nth, isBoilerplate: false });
      expect(leg[0]?.score).toBeCloseTo(1, 4);
    }
  });

  test('passages are read in the order of their candidates', async () => {
    const { own } = open();
    const texts = ['heron one', 'heron two', 'heron three'];
    const table = await own.append(newTable(), [makeGeneration('doc_1', 1, texts)]);
    const passages = await read(own, table, async (reader) => {
      const found = await reader.searchKeywords(weighTerms(['heron']), EVERYTHING);
      return reader.readPassages(found.toSorted((a, b) => b.chunkIndex - a.chunkIndex));
    });
    expect(passages?.map(({ text }) => text)).toEqual(texts.toReversed());
    expect(passages?.map(({ locator }) => JSON.parse(locator).page)).toEqual([3, 2, 1]);
  });

  test('several tables are searched as one, each with its own terms', async () => {
    const { own } = open();
    const one = await own.append(newTable(), [makeGeneration('doc_1', 1, ['a heron in the first table'])]);
    const two = await own.append(newTable(), [makeGeneration('doc_2', 2, ['a stork in the second table'])]);
    const missing = { name: newTable(), version: 1 };
    const ownTerms = new Map([[two.name, weighTerms(['stork'])]]);
    const reader = await own.open([one, missing, two], { ownTerms });
    const found = (await reader?.searchKeywords(weighTerms(['heron']), EVERYTHING)) ?? [];
    expect(found.map(({ chunkId }) => chunkId).sort()).toEqual(['doc_1_1_0', 'doc_2_2_0']);
    const passages = await reader?.readPassages(found);
    expect(passages?.map(({ text }) => text).sort()).toEqual([
      'a heron in the first table',
      'a stork in the second table',
    ]);
  });

  test('removed documents and generations are soon not found any more, in any process', async () => {
    const { own, other } = open();
    const name = newTable();
    const table = await own.append(name, [
      makeGeneration('doc_1', 1, ['heron of one', 'heron of one again']),
      makeGeneration('doc_1', 2, ['heron of one, newer']),
      makeGeneration('doc_2', 3, ['heron of two']),
      makeGeneration('doc_3', 4, ['heron of three']),
    ]);
    for (const index of [own, other]) expect(await findIds(index, table, 'heron')).toHaveLength(5);
    const without = await own.remove(name, { documentIds: ['doc_2'], generations: [1] });
    for (const index of [own, other]) {
      await until(async () => (await findIds(index, without, 'heron')).join() === 'doc_1_2_0,doc_3_4_0');
    }
    const back = await own.append(name, [makeGeneration('doc_2', 5, ['heron of two is back'])]);
    for (const index of [own, other]) expect(await findIds(index, back, 'two')).toEqual(['doc_2_5_0']);
  });

  test('settling changes neither what is found nor its scores', async () => {
    const { own, other } = open();
    const name = newTable();
    let table: TableVersion | null = null;
    for (let nth = 1; nth <= 12; nth++) {
      table = await own.append(name, [makeGeneration(`doc_${nth}`, nth, [`heron ${nth} of ${12 - nth} reeds`])]);
    }
    const settled = await own.settle(name);
    expect(settled.version).toBeGreaterThanOrEqual((table as TableVersion).version);
    expect(settled).toMatchObject({ unindexedRows: 0, isDueToSettle: false });
    expect(await own.statistics(settled)).toMatchObject({ rows: 12, unindexedRows: 0 });
    for (const index of [own, other]) expect(await findIds(index, settled, 'heron')).toHaveLength(12);
    const after = await own.append(name, [makeGeneration('doc_13', 13, ['heron thirteen'])]);
    for (const index of [own, other]) expect(await findIds(index, after, 'thirteen')).toEqual(['doc_13_13_0']);
  });

  test('a writer that has lost its lock writes nothing', async () => {
    const { own } = open();
    const name = newTable();
    const table = await own.append(name, [makeGeneration('doc_1', 1, ['heron'])]);
    const requireLock = async () => {
      throw new Error('the lock is lost');
    };
    const late = makeGeneration('doc_2', 2, ['late heron']);
    await expect(own.append(name, [late], { requireLock })).rejects.toThrow('the lock is lost');
    const everything = { documentIds: ['doc_1'], generations: [] };
    await expect(own.remove(name, everything, { requireLock })).rejects.toThrow('the lock is lost');
    expect(await own.version(name)).toBe(table.version);
  });

  test('chunks and terms are read back, and generations are copied to another table', async () => {
    const { own } = open();
    const texts = ['the heron fishes', 'the heron nests'];
    const name = newTable();
    const table = await own.append(name, [makeGeneration('doc_1', 1, texts), makeGeneration('doc_2', 2, ['a stork'])]);
    const read = await own.readChunks(table, { documentIds: ['doc_1'], perDocument: 1, limit: 10 });
    const [chunk, ...others] = read.chunks;
    expect(others).toEqual([]);
    expect(chunk).toMatchObject({ chunkId: 'doc_1_1_0', generation: 1, chunkIndex: 0, text: texts[0] });
    expect(read.vectors).toEqual(embedLexicalPassages(texts).subarray(0, 1_024));
    const tokens: string[] = [];
    for await (const row of own.readTokens(table, [1])) tokens[row.chunkIndex] = row.tokens;
    expect(tokens).toEqual(texts.map((text) => analyse(text).join(' ')));
    const next = `${name}_next`;
    await own.append(next, [makeGeneration('doc_3', 3, ['a crane'])]);
    await own.copyGenerations(table, next, [2]);
    expect(await own.countByGeneration(next)).toEqual(
      new Map([
        [3, 1],
        [2, 1],
      ]),
    );
  });

  test('whole chunks of generations are read back as they were appended', async () => {
    const { own } = open();
    const name = newTable();
    const made = makeGeneration('doc_1', 1, ['the heron fishes', 'Reiher nisten: 2,5 km – „Ufer“ 왜가리']);
    const [first, second] = made.chunks.map((chunk) => ({ ...chunk, privacyLevel: 3 }));
    const marked = { ...second, collectionId: 'col_1', eventTimeMs: 1_700_000_000_123 } as IndexedChunk;
    const generation = { ...made, chunks: [first as IndexedChunk, marked] };
    const table = await own.append(name, [generation, makeGeneration('doc_2', 2, ['a stork'])]);
    const read: IndexedChunk[] = [];
    for await (const { chunks, vectors } of own.readGenerations(table, [1])) {
      for (const [at, chunk] of chunks.entries()) {
        read.push(chunk);
        const from = chunk.chunkIndex * 1_024;
        expect(vectors.slice(at * 1_024, (at + 1) * 1_024)).toEqual(made.vectors.slice(from, from + 1_024));
      }
    }
    expect(read.sort((a, b) => a.chunkIndex - b.chunkIndex)).toEqual(generation.chunks);
  });

  test('an expunged table has none of the removed chunks at the version that it publishes', async () => {
    const { own, other } = open();
    const name = newTable();
    await own.append(name, [
      makeGeneration('doc_1', 1, ['secret heron']),
      makeGeneration('doc_2', 2, ['public heron']),
    ]);
    await own.remove(name, { documentIds: ['doc_1'], generations: [] });
    const published: TableVersion[] = [];
    await own.expunge(name, { publish: async (state) => void published.push(state) });
    const last = published.at(-1) as TableVersion;
    for (const index of [own, other])
      await until(async () => (await findIds(index, last, 'heron')).join() === 'doc_2_2_0');
    await own.expunge(newTable(), { publish: async () => expect.unreachable() });
  });

  test('dropping a bucket drops all tables of its name, and no other', async () => {
    const { own, other } = open();
    const name = newTable();
    const kept = `${name}x`;
    for (const each of [name, `${name}_rpj_1`, kept]) await own.append(each, [makeGeneration('doc_1', 1, ['heron'])]);
    await own.dropAll(name);
    const version = await own.version(kept);
    expect(await other.open([{ name, version: 1 }])).toBeNull();
    expect(await findIds(other, { name: kept, version }, 'heron')).toEqual(['doc_1_1_0']);
    await own.drop(kept);
    await own.drop(kept);
    expect(await own.open([{ name: `${name}_rpj_1`, version: 1 }])).toBeNull();
  });

  test('a sample compares rows with a query by terms and by cosine', async () => {
    const { own } = open();
    const table = await own.append(newTable(), [makeGeneration('doc_1', 1, ['heron in reeds', 'stork on a roof'])]);
    const vector = embedLexicalPassages(['heron in reeds']);
    const rows = await read(own, table, (reader) => reader.compareSample({ vector, terms: ['heron', 'roof'] }));
    expect(rows?.map(({ terms }) => [...terms]).sort()).toEqual([['heron'], ['roof']]);
    expect(Math.max(...(rows ?? []).map(({ cosine }) => cosine ?? 0))).toBeCloseTo(1, 4);
    const words = await read(own, table, (reader) => reader.compareSample({ vector: null, terms: ['heron'] }));
    expect(words?.map(({ cosine }) => cosine)).toEqual([null, null]);
  });

  test('the cosines of found chunks are read in their order', async () => {
    const { own } = open();
    const texts = ['heron in reeds', 'a heron and a stork on a roof', 'heron'];
    const table = await own.append(newTable(), [makeGeneration('doc_1', 1, texts)]);
    const vector = embedLexicalPassages(['heron in reeds']);
    await read(own, table, async (reader) => {
      const byWords = await reader.searchKeywords(weighTerms(analyse('heron')), EVERYTHING);
      const byCosine = await reader.searchVectors(vector, EVERYTHING);
      const cosines = await reader.readCosines(vector, byWords);
      expect(byWords).toHaveLength(3);
      for (const [at, { chunkId }] of byWords.entries()) {
        expect(cosines[at]).toBeCloseTo(byCosine.find((found) => found.chunkId === chunkId)?.score as number, 5);
      }
      expect(await reader.readCosines(vector, byWords.toReversed())).toEqual([...cosines].reverse());
    });
  });

  test('the engine can be probed', async () => {
    const { own } = open();
    await own.probe();
    await own.requireReach();
    expect(await own.whileReached(Promise.resolve(7))).toBe(7);
  });
}
