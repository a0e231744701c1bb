import { expect, it } from 'vitest';
import type { ChunkSource } from '../../src/search/chunk-source.ts';
import type { LiveDocument } from '../../src/search/documents/document-store.ts';
import type { Candidate } from '../../src/search/legs.ts';
import type { RankedChunk } from '../../src/search/rank.ts';
import { readBest } from '../../src/search/read-best.ts';

const details = { fileName: 'a.md', sourcePath: null, metadata: {} };
const bounds = { wanted: 10, perDocumentMax: null };

it('a passage that was read early is not read again', async () => {
  const { source, reads } = makeSource();
  const [first, second] = [makeChunk('doc_1', true), makeChunk('doc_2', true)];
  const early = source.readPassages([first]);
  const best = await readBest(source, [first, second], bounds, { early, readDetails });
  expect(best.map(({ text }) => text)).toEqual(['text of doc_1', 'text of doc_2']);
  expect(reads).toEqual([['doc_1'], ['doc_2']]);
});

it('passages that could not be read early are read after all', async () => {
  const { source } = makeSource();
  const early = Promise.reject(new Error('a row is gone'));
  const best = await readBest(source, [makeChunk('doc_1', true)], bounds, { early, readDetails });
  expect(best.map(({ text }) => text)).toEqual(['text of doc_1']);
});

it('a chunk whose document went out of sight before its details were read is left out', async () => {
  const { source } = makeSource();
  const chunks = ['doc_1', 'doc_gone', 'doc_2'].map((id) => makeChunk(id, id === 'doc_1'));
  const best = await readBest(source, chunks, bounds, { early: undefined, readDetails });
  expect(best.map((chunk) => [chunk.documentId, chunk.details])).toEqual([
    ['doc_1', details],
    ['doc_2', details],
  ]);
});

async function readDetails(ids: readonly string[]): Promise<ReadonlyMap<string, LiveDocument>> {
  return new Map(ids.filter((id) => id !== 'doc_gone').map((id) => [id, makeDocument(true)]));
}

function makeDocument(isDetailed: boolean): LiveDocument {
  return { bucketId: 'bkt_1', generation: 1, isKeywordOnly: false, details: isDetailed ? details : null };
}

function makeChunk(documentId: string, isDetailed: boolean): RankedChunk {
  return {
    ...{ chunkId: `${documentId}_1_0`, documentId, generation: 1, chunkIndex: 0, isBoilerplate: false },
    ...{ document: makeDocument(isDetailed), score: 1, rrf: 1, bm25: 1, cosine: 1 },
    ranks: {
      hit: { id: `${documentId}_1_0`, score: 1, rrf: 1, keywordRank: 1, vectorRank: 1 },
      ...{ weights: { keyword: 1, vector: 1 }, mode: 'hybrid' },
    },
  };
}

/** Make a source whose texts name their documents, and a list of the documents of each reading. */
function makeSource(): { source: ChunkSource; reads: string[][] } {
  const reads: string[][] = [];
  const source: ChunkSource = {
    compareSample: null,
    isInMemory: true,
    searchVectors: async () => [],
    searchKeywords: async () => [],
    corrections: () => [],
    async readPassages<C extends Candidate>(candidates: readonly C[]) {
      reads.push(candidates.map(({ documentId }) => documentId));
      return candidates.map((each) => ({ ...each, text: `text of ${each.documentId}`, locator: '{}' }));
    },
  };
  return { source, reads };
}
