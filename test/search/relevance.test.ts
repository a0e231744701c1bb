import { expect, it } from 'vitest';
import { embedLexical, embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import { hashOf, RowSample, type SampledRow } from '../../src/index/lance/row-sample.ts';
import { analyse } from '../../src/language/analyser.ts';
import { backgroundOf, weightOf } from '../../src/search/relevance/background.ts';
import { estimateRelevance } from '../../src/search/relevance/estimate.ts';
import { backgroundOfQuery, judgeChunks, USUAL_BACKGROUND } from '../../src/search/relevance/judge.ts';
import { relevanceOfAnswer } from '../../src/search/relevance/schema.ts';

const TOPICS = ['tides', 'bearings', 'payroll', 'gardens', 'trains', 'grammar', 'volcanoes', 'bread'];
const sample = Array.from({ length: 40 }, (_, nth): SampledRow => {
  const text = `Page ${nth} of the book about ${TOPICS[nth % TOPICS.length]} has a number of common words.`;
  return { documentId: `doc_${nth}`, vector: embedLexicalPassages([text]), terms: new Set(analyse(text).map(hashOf)) };
});

const compare = (query: string, vector: Float32Array | null = embedLexical([query]), rows = sample) =>
  new RowSample(rows).compare({ vector, terms: [...new Set(analyse(query))] });

const lexical = (query: string) => ({
  ...{ sample: compare(query), kind: 'lexical' as const, background: backgroundOfQuery('lexical', compare(query)) },
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
  expect(backgroundOf(compared.slice(0, 23), null)).toBeNull();
  expect(backgroundOf(compared, null)?.mean).toBeGreaterThan(0);
  expect(estimateRelevance({ coverage: 1, distance: null }, 'semantic')).toBeNull();
  expect(estimateRelevance({ coverage: 1, distance: null }, null)).toBe('high');
  expect(estimateRelevance({ coverage: 0, distance: 20 }, 'semantic')).toBe('high');
});

it('a small bucket of the built-in model is judged by the usual background of the model', () => {
  expect(backgroundOf([], USUAL_BACKGROUND)?.mean).toBeCloseTo(USUAL_BACKGROUND.mean, 9);
  expect(backgroundOf([], USUAL_BACKGROUND)?.deviation).toBeCloseTo(USUAL_BACKGROUND.deviation, 9);
});

it('rare terms weigh more than common ones, and an answer is as relevant as its best result', () => {
  const compared = compare('zephyr trains book');
  expect(weightOf('zephyr', compared)).toBeGreaterThan(weightOf('train', compared));
  expect(weightOf('train', compared)).toBeGreaterThan(weightOf('book', compared));
  expect(relevanceOfAnswer([{ relevance: 'low' }, { relevance: 'medium' }, { relevance: null }])).toBe('medium');
  expect(relevanceOfAnswer([{ relevance: null }])).toBeNull();
  expect(relevanceOfAnswer([])).toBe('none');
});

it('a query of few components has the background that a query of all components has', () => {
  const query = embedLexical(['book about trains']);
  const used = query.filter((x) => x !== 0).length;
  expect(used).toBeLessThan(query.length / 4);
  const sparse = backgroundOf(compare('', query), null);
  const cosines = sample.map(({ vector }) => vector.reduce((sum, x, at) => sum + x * (query[at] as number), 0));
  const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / cosines.length;
  expect(sparse?.mean).toBeCloseTo(mean, 9);
  const nearly = query.map((x) => x + 1e-9);
  const full = backgroundOf(compare('', nearly), null);
  expect(full?.mean).toBeCloseTo(mean, 6);
  expect(full?.deviation).toBeCloseTo(sparse?.deviation as number, 6);
});
