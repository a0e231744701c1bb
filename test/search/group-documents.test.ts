import { expect, it } from 'vitest';
import { groupByDocument } from '../../src/search/results/group-documents.ts';
import type { SearchResult } from '../../src/search/schema.ts';

let rank = 0;
function chunk(document: string, bm25: number | null, rerank: number | null = null): SearchResult {
  rank++;
  return {
    ...{ id: `chk_${rank}`, document_id: document, chunk_index: rank, text: document, score: 1 / rank, metadata: {} },
    ...{ relevance: 'high', relevance_score: 0.9 },
    scores: { vector_score: null, bm25_score: bm25, rrf_score: null, rerank_score: rerank },
    citation: { file_name: `${document}.md`, source_path: null, locator: {} as never, url: null },
  };
}
const order = (chunks: readonly SearchResult[], topK = 10) =>
  groupByDocument(chunks, topK).map((found) => found.document_id);

it('a document with several good chunks ranks before one with a single chunk of nearly the same score', () => {
  expect(order([chunk('single', 10), chunk('several', 9.8), chunk('several', 9), chunk('several', 8)])).toEqual([
    'several',
    'single',
  ]);
  expect(order([chunk('single', 10), chunk('several', 8), chunk('several', 8), chunk('several', 8)])).toEqual([
    'single',
    'several',
  ]);
});

it('the last of the wanted documents is chosen by all its chunks', () => {
  const chunks = [chunk('first', 20), chunk('single', 10), chunk('several', 9.9), chunk('several', 9)];
  expect(order(chunks, 2)).toEqual(['first', 'several']);
});

it('an order that vectors or a reranker have made stays', () => {
  expect(order([chunk('near', 5), chunk('words', 9), chunk('words', 8)])).toEqual(['near', 'words']);
  expect(order([chunk('near', null), chunk('far', null), chunk('far', null)])).toEqual(['near', 'far']);
  expect(order([chunk('one', 10, 0.9), chunk('two', 9.9, 0.8), chunk('two', 9.9, 0.7)])).toEqual(['one', 'two']);
});
