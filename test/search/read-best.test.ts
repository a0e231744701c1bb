import { expect, it } from 'vitest';
import type { Candidate } from '../../src/index/chunk-index.ts';
import type { DocumentDetails, LiveDocument } from '../../src/search/documents/document-store.ts';
import type { RankedChunk } from '../../src/search/rank.ts';
import { readBest } from '../../src/search/results/read-best.ts';

const details: DocumentDetails = { fileName: 'a.md', sourcePath: null, metadata: {} };
const bounds = { wanted: 10, perDocumentMax: null };
const documents = {
  readDetails: async (ids: readonly string[]) =>
    new Map(ids.filter((id) => id !== 'doc_gone').map((id) => [id, details])),
};

it('a chunk whose document went out of sight before its details were read is left out', async () => {
  const { source } = makeSource();
  const best = await readBest(source, ['doc_1', 'doc_gone', 'doc_2'].map(makeChunk), bounds, documents);
  expect(best.map((chunk) => [chunk.documentId, chunk.details])).toEqual([
    ['doc_1', details],
    ['doc_2', details],
  ]);
});

it('more passages are read only if near-duplicates leave too few', async () => {
  const { source, reads } = makeSource();
  const chunks = Array.from({ length: 40 }, (_, nth) => makeChunk(nth < 20 ? 'doc_same' : `doc_${nth}`));
  const best = await readBest(source, chunks, bounds, documents);
  expect(best.map(({ documentId }) => documentId)).toEqual([
    'doc_same',
    ...Array.from({ length: 9 }, (_, nth) => `doc_${20 + nth}`),
  ]);
  expect(reads.map(({ length }) => length)).toEqual([18, 18]);
});

function makeChunk(documentId: string): RankedChunk {
  const document: LiveDocument = { bucketId: 'bkt_1', generation: 1, isKeywordOnly: false };
  return {
    ...{ chunkId: `${documentId}_1_0`, documentId, generation: 1, chunkIndex: 0, isBoilerplate: false },
    ...{ document, score: 1, rrf: 1, share: 1, bm25: 1, cosine: 1 },
    ranks: {
      hit: {
        id: `${documentId}_1_0`,
        score: 1,
        rrf: 1,
        keywordRank: 1,
        vectorRank: 1,
        keywordPart: 0.5,
        vectorPart: 0.5,
      },
      ...{ weights: { keyword: 1, vector: 1 }, mode: 'hybrid' },
    },
  };
}

/** Make a source whose texts name their documents, and a list of the documents of each reading. */
function makeSource() {
  const reads: string[][] = [];
  const source = {
    async readPassages<C extends Candidate>(candidates: readonly C[]) {
      reads.push(candidates.map(({ documentId }) => documentId));
      return candidates.map((each) => ({ ...each, text: `text of ${each.documentId}`, locator: '{}' }));
    },
  };
  return { source, reads };
}
