import { expect, it } from 'vitest';
import { embedLexical, embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import type { Candidate, ChunkReader } from '../../src/index/chunk-index.ts';
import { hashOf, RowSample, type SampledRow } from '../../src/index/row-sample.ts';
import { analyse } from '../../src/language/analyser.ts';
import { SEMANTIC_ID } from '../../src/models/catalog.ts';
import type { PreparedQuery } from '../../src/search/prepare-query.ts';
import type { FoundChunk } from '../../src/search/rank.ts';
import { backgroundOf, meanCosineOf, weightOf } from '../../src/search/relevance/background.ts';
import { estimateRelevance } from '../../src/search/relevance/estimate.ts';
import { countWords, judgeChunks } from '../../src/search/relevance/judge.ts';
import { LEVELS, relevanceOf, relevanceOfAnswer } from '../../src/search/relevance/schema.ts';
import { readCosines } from '../../src/search/sample-background.ts';

const TOPICS = ['tides', 'bearings', 'payroll', 'gardens', 'trains', 'grammar', 'volcanoes', 'bread'];
const sample = Array.from({ length: 40 }, (_, nth): SampledRow => {
  const text = `Page ${nth} of the book about ${TOPICS[nth % TOPICS.length]} has a number of common words.`;
  return { documentId: `doc_${nth}`, vector: embedLexicalPassages([text]), terms: new Set(analyse(text).map(hashOf)) };
});

const compare = (query: string, vector: Float32Array | null = embedLexical([query]), rows = sample) =>
  new RowSample(rows).compare({ vector, terms: [...new Set(analyse(query))] });

const lexical = (query: string) => ({
  ...{ sample: compare(query), kind: 'lexical' as const, background: null },
});

const judge = async (query: string, text: string, fields: object = {}) => {
  const vector = embedLexical([query]);
  const own = embedLexicalPassages([text]);
  const cosine = own.reduce((sum, x, at) => sum + x * (vector[at] as number), 0);
  const chunk = { chunkId: 'chunk', text, cosine };
  const given = { terms: analyse(query), words: countWords(query), alternatives: [], ...lexical(query) };
  const [judged] = await judgeChunks([chunk], { ...given, cosines: new Map(), ...fields });
  return judged?.relevance;
};

it('a text with the rare words of the query is relevant, and one with its common words only is not', async () => {
  expect(await judge('warranty of the pump', 'The warranty of the pump covers two years.')).toBe('high');
  expect(await judge('book about warranty of pumps', 'Page 7 of the book about trains has a number.')).toBe('none');
  expect(await judge('chocolate cake', 'Bearings are greased twice a year.')).toBe('none');
});

it('a text with a synonym of a word of the query has that word', async () => {
  const text = 'The kubernetes cluster restarts.';
  const alternatives = [{ phrase: ['k8s'], others: [['kubernet']] }];
  const keyword = { background: null, kind: null };
  expect(await judge('k8s cluster', text, keyword)).toBe('low');
  expect(await judge('k8s cluster', text, { ...keyword, alternatives })).toBe('high');
});

it('the relevance of a chunk does not depend on what else was found', async () => {
  const texts = ['The warranty of the pump.', 'A page about trains.', 'The pump is in the cellar.'];
  const chunks = texts.map((text) => ({ chunkId: text, text, cosine: 0.3 }));
  const query = {
    ...{ terms: analyse('warranty of the pump'), words: 4, alternatives: [], cosines: new Map() },
    ...lexical('warranty of the pump'),
  };
  const together = (await judgeChunks(chunks, query)).map(({ relevance }) => relevance);
  const alone = await Promise.all(chunks.map(async (chunk) => (await judgeChunks([chunk], query))[0]?.relevance));
  expect(together).toEqual(alone);
});

const facts = { coverage: 0, excess: undefined, rows: 128, words: 6 };

it('a semantic model is judged by the mean cosine of its own bucket, which needs four chunks', () => {
  const compared = compare('book about trains');
  expect(backgroundOf(compared.slice(0, 3), 'vendor/model')).toBeNull();
  const mean = (rows: typeof compared) => rows.reduce((sum, { cosine }) => sum + (cosine ?? 0), 0) / rows.length;
  expect(backgroundOf(compared.slice(0, 4), 'vendor/model')).toEqual({ mean: mean(compared.slice(0, 4)), rows: 4 });
  expect(meanCosineOf(compared)).toBeCloseTo(mean(compared), 12);
  expect(meanCosineOf(compared.slice(0, 23))).toBeNull();
  expect(estimateRelevance({ ...facts, coverage: 1 }, 'semantic')).toBeNull();
  expect(estimateRelevance({ ...facts, coverage: 1 }, null)).toBeGreaterThan(0.6);
});

it('the built-in semantic model has a background in a bucket of any size', () => {
  const row = (cosine: number) => ({ documentId: 'doc', cosine, terms: new Set<string>() });
  expect(backgroundOf([], SEMANTIC_ID)).toEqual({ mean: 0.78, rows: 0 });
  expect(backgroundOf([row(0.88)], SEMANTIC_ID)?.mean).toBeCloseTo(0.83, 12);
  // The vectors of these rows are not made yet.
  expect(backgroundOf([row(0.88), row(0), row(0)], SEMANTIC_ID)).toEqual(backgroundOf([row(0.88)], SEMANTIC_ID));
  const rows = Array.from({ length: 24 }, () => row(0.8));
  expect(meanCosineOf([...rows, row(0)])).toBe(meanCosineOf(rows));
  expect(backgroundOf([row(0.8), row(0.82)], SEMANTIC_ID)?.mean).toBeCloseTo(0.8, 12);
});

it('a near text without a word of the query is relevant, and a far one with a word of it is not', async () => {
  const query = { rows: 22, words: 6 };
  // Cosines of the built-in model for "how much vacation do employees get?" and texts on annual leave and batteries.
  const excess = (cosine: number) => (cosine - 0.802) / (1 - 0.802);
  expect(estimateRelevance({ ...query, coverage: 0.13, excess: excess(0.857) }, 'semantic')).toBeGreaterThan(0.1);
  expect(estimateRelevance({ ...query, coverage: 0.13, excess: excess(0.8) }, 'semantic')).toBeLessThan(0.1);
  expect(estimateRelevance({ ...query, coverage: 0.13, excess: excess(0.857) }, null)).toBeLessThan(0.1);
});

it('a text fits by chance more often among many than among few', () => {
  const features = { coverage: 0.2, excess: 0.25, words: 6 };
  const scores = [2, 32, 128, 512].map((rows) => estimateRelevance({ ...features, rows }, 'semantic') as number);
  expect(scores[0]).toBeGreaterThan(scores[1] as number);
  expect(scores[1]).toBeGreaterThan(scores[2] as number);
  // A search of several buckets has a sample of each, which says no more about their size.
  expect(scores[3]).toBe(scores[2]);
});

it('a text of a document without vectors is judged by its words', async () => {
  for (const coverage of [0, 0.4, 0.8]) {
    const features = { ...facts, coverage };
    expect(estimateRelevance({ ...features, excess: null }, 'semantic')).toBe(estimateRelevance(features, null));
  }
});

it('a chunk that only the keyword leg found is judged with its cosine, however many candidates there were', async () => {
  const asked: string[][] = [];
  const reader = {
    readCosines: async (_: Float32Array, chunks: readonly Candidate[]) => {
      asked.push(chunks.map(({ chunkId }) => chunkId));
      return chunks.map(() => 0.84);
    },
  } as unknown as ChunkReader;
  const chunk = (chunkId: string, cosine: number | null, isKeywordOnly = false) =>
    ({ chunkId, cosine, document: { isKeywordOnly } }) as FoundChunk;
  const chunks = [chunk('both', 0.9), chunk('words', null), chunk('no_vector', null, true)];
  const preparing = Promise.resolve({ vector: new Float32Array(1024) } as PreparedQuery);
  const background = { mean: 0.78, rows: 40 };
  expect([...(await readCosines(reader, chunks, { background, preparing }))]).toEqual([['words', 0.84]]);
  expect([...(await readCosines(reader, chunks, { background: null, preparing }))]).toEqual([]);
  expect([...(await readCosines(reader, chunks.slice(0, 1), { background, preparing }))]).toEqual([]);
  expect(asked).toEqual([['words']]);
});

it('a few words of a query of more than 25 words are not called none', async () => {
  const long =
    'My neighbour bought this pump two years ago and it leaks now in the cellar where we keep potatoes, so I wonder if anybody still answers for it or not';
  expect(countWords(long)).toBe(30);
  const text = 'The pump is covered for two years.';
  expect(await judge(long, text)).toBe('low');
  expect(await judge(long.split(' ').slice(0, 25).join(' '), text)).toBe('none');
  const scoreAt = (words: number) => estimateRelevance({ ...facts, coverage: 0.2, words }, null) as number;
  expect([scoreAt(25), scoreAt(26)]).toEqual([0.03, 0.1]);
  expect(scoreAt(68)).toBeGreaterThan(scoreAt(26));
  expect(scoreAt(500)).toBe(scoreAt(68));
});

it('words are counted in texts without spaces, up to the number that matters', () => {
  expect(countWords('how much vacation do employees get?')).toBe(6);
  expect(countWords('휴가는 며칠이나 쓸 수 있어요?')).toBe(5);
  expect(countWords('วันหยุดพักร้อนมีกี่วัน')).toBeGreaterThan(3);
  expect(countWords('word '.repeat(500))).toBe(68);
  expect(countWords('?!')).toBe(0);
});

it('the vector of a lexical model does not change the relevance, so that all modes have the same', async () => {
  const features = { ...facts, coverage: 0.7 };
  expect(estimateRelevance(features, 'lexical')).toBe(estimateRelevance(features, null));
  expect(await judge('warranty of pumps', 'The pump.', { kind: null })).toBe(
    await judge('warranty of pumps', 'The pump.', { cosines: new Map([['chunk', 0.9]]) }),
  );
});

it('the level follows from the score as it is shown', () => {
  for (let hundredths = 0; hundredths <= 100; hundredths++) {
    const score = hundredths / 100;
    const { relevance } = relevanceOf(score);
    expect(relevance).toBe(score >= 0.6 ? 'high' : score >= 0.3 ? 'medium' : score >= 0.1 ? 'low' : 'none');
  }
  expect(LEVELS.map(({ relevance }) => relevance)).toEqual(['high', 'medium', 'low', 'none']);
  expect(relevanceOf(null)).toEqual({ relevance: null, relevance_score: null });
  for (let coverage = 0; coverage <= 1; coverage += 0.001) {
    const score = estimateRelevance({ ...facts, coverage }, null) as number;
    expect(Number(score.toFixed(2))).toBe(score);
  }
});

it('rare terms weigh more than common ones, and an answer is as relevant as its best result', () => {
  const compared = compare('zephyr trains book');
  expect(weightOf('zephyr', compared)).toBeGreaterThan(weightOf('train', compared));
  expect(weightOf('train', compared)).toBeGreaterThan(weightOf('book', compared));
  expect(weightOf('often', compared)).toBeLessThan(weightOf('zephyr', compared));
  const scores = [{ relevance_score: 0.2 }, { relevance_score: 0.4 }, { relevance_score: null }];
  expect(relevanceOfAnswer(scores)).toEqual({ relevance: 'medium', relevance_score: 0.4 });
  expect(relevanceOfAnswer([{ relevance_score: null }])).toEqual({ relevance: null, relevance_score: null });
  expect(relevanceOfAnswer([])).toEqual({ relevance: 'none', relevance_score: 0 });
});

it('a query of few components has the background that a query of all components has', () => {
  const query = embedLexical(['book about trains']);
  const used = query.filter((x) => x !== 0).length;
  expect(used).toBeLessThan(query.length / 4);
  const sparse = meanCosineOf(compare('', query));
  const cosines = sample.map(({ vector }) => vector.reduce((sum, x, at) => sum + x * (query[at] as number), 0));
  const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
  expect(sparse).toBeCloseTo(mean, 9);
  const nearly = query.map((x) => x + 1e-9);
  expect(meanCosineOf(compare('', nearly))).toBeCloseTo(mean, 6);
});
