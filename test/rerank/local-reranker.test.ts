import { expect, it } from 'vitest';
import { z } from 'zod';
import { embeddingConfigOf, embeddingSettings } from '../../src/platform/provider-settings.ts';
import { openLocalReranker } from '../../src/rerank/local-reranker.ts';
import { rerankResults } from '../../src/search/results/rerank-results.ts';
import type { SearchResult } from '../../src/search/schema.ts';

const settings = { kind: 'local', model: 'local/ranker', timeoutMs: 20 } as const;
const results = [{ text: 'one' }, { text: 'two' }] as SearchResult[];

/** Model that answers only when its signal is aborted, as one that is still being loaded. */
function scoreNever(_name: string, _query: string, _texts: readonly string[], signal: AbortSignal): Promise<number[]> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

it('a local reranker that is too late leaves results in fused order with a warning', async () => {
  const warnings: string[] = [];
  const reranker = openLocalReranker(settings, { score: scoreNever });
  expect(await rerankResults(reranker, 'ferry', results, warnings, undefined)).toEqual(results);
  expect(warnings).toEqual(['the reranker did not answer in time; results are in fused order']);
});

it('a search that is aborted does not wait for a local reranker', async () => {
  const abort = new AbortController();
  const reranker = openLocalReranker({ ...settings, timeoutMs: 600_000 }, { score: scoreNever });
  const scores = reranker.score({ query: 'ferry', texts: ['one'] }, abort.signal);
  abort.abort(new Error('the client left'));
  await expect(scores).rejects.toThrow('the client left');
});

it('settings of a local reranker are its model alone, and a remote one needs protocol and base_url', () => {
  const parse = (rerank: object) => z.object(embeddingSettings).safeParse({ rerank });
  const local = parse({ model: 'local/ranker' });
  expect(local.success && embeddingConfigOf(local.data).rerank).toMatchObject({ kind: 'local', timeoutMs: 3000 });
  const faultsOf = (rerank: object) => parse(rerank).error?.issues.map((issue) => issue.path.join('.'));
  expect(faultsOf({ model: 'local/ranker', protocol: 'tei', base_url: 'http://localhost' })).toEqual([
    'rerank.protocol',
    'rerank.base_url',
  ]);
  expect(faultsOf({ model: 'ranker' })).toEqual(['rerank.protocol', 'rerank.base_url']);
});
