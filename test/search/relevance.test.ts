import { expect, it } from 'vitest';
import { embedLexical, embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import { hashOf, RowSample, type SampledRow } from '../../src/index/lance/row-sample.ts';
import { analyse } from '../../src/language/analyser.ts';
import { backgroundOf, weightOf } from '../../src/search/relevance/background.ts';
import { estimateRelevance } from '../../src/search/relevance/estimate.ts';
import { judgeChunks } from '../../src/search/relevance/judge.ts';
import { LEVELS, relevanceOf, relevanceOfAnswer } from '../../src/search/relevance/schema.ts';

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
  const chunk = { text, cosine, document: { isKeywordOnly: false } };
  const given = { terms: analyse(query), alternatives: [], ...lexical(query) };
  const [judged] = await judgeChunks([chunk], { ...given, lowestCosine: null, ...fields });
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
  const chunks = texts.map((text) => ({ text, cosine: 0.3, document: { isKeywordOnly: false } }));
  const query = {
    ...{ terms: analyse('warranty of the pump'), alternatives: [], lowestCosine: null },
    ...lexical('warranty of the pump'),
  };
  const together = (await judgeChunks(chunks, query)).map(({ relevance }) => relevance);
  const alone = await Promise.all(chunks.map(async (chunk) => (await judgeChunks([chunk], query))[0]?.relevance));
  expect(together).toEqual(alone);
});

it('a model with meaning is judged by the background of its own bucket, which needs 24 chunks', () => {
  const compared = compare('book about trains');
  expect(backgroundOf(compared.slice(0, 23))).toBeNull();
  expect(backgroundOf(compared)?.mean).toBeGreaterThan(0);
  expect(estimateRelevance({ coverage: 1, distance: null }, 'semantic')).toBeNull();
  expect(estimateRelevance({ coverage: 1, distance: null }, null)).toBeGreaterThan(0.6);
  expect(estimateRelevance({ coverage: 0, distance: 20 }, 'semantic')).toBeGreaterThan(0.6);
});

it('the vector of the built-in model does not change the relevance, so that all modes have the same', async () => {
  const features = { coverage: 0.7, distance: null };
  expect(estimateRelevance(features, 'lexical')).toBe(estimateRelevance(features, null));
  expect(await judge('warranty of pumps', 'The pump.', { kind: null })).toBe(
    await judge('warranty of pumps', 'The pump.', { lowestCosine: 0.9 }),
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
    const score = estimateRelevance({ coverage, distance: null }, null) as number;
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
  const sparse = backgroundOf(compare('', query));
  const cosines = sample.map(({ vector }) => vector.reduce((sum, x, at) => sum + x * (query[at] as number), 0));
  const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
  expect(sparse?.mean).toBeCloseTo(mean, 9);
  const nearly = query.map((x) => x + 1e-9);
  const full = backgroundOf(compare('', nearly));
  expect(full?.mean).toBeCloseTo(mean, 6);
  expect(full?.deviation).toBeCloseTo(sparse?.deviation as number, 6);
});
