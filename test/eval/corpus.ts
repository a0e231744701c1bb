/**
 * `npm run eval -- corpus`: quality of the built-in calibration corpus compared with real text.
 *
 * The models are synthetic (see `synthetic-model.ts`), except for the built-in lexical one, so that the evaluation needs
 * no Python; `npm run eval -- projections` measures real models. The reference and the model embed the calibration
 * texts, from which a space and a map are fitted. Then texts of real collections that no source contains are searched
 * across the two models.
 */
import { existsSync, readFileSync } from 'node:fs';
import { embedLexical, LEXICAL_DIMENSIONS } from '../../src/embedding/providers/local.ts';
import { readCalibrationCorpus } from '../../src/projection/corpus/calibration-corpus.ts';
import { type CanonicalSpace, createSpace } from '../../src/projection/fit/create-space.ts';
import { evaluateMap } from '../../src/projection/fit/evaluate-map.ts';
import { fitMap } from '../../src/projection/fit/fit-map.ts';
import { centreRows } from '../../src/projection/fit/rows.ts';
import { shuffledIndices } from '../../src/projection/fit/split-pairs.ts';
import { matmul } from '../../src/projection/kernel/matmul.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { openSyntheticModel, type SyntheticModel } from './synthetic-model.ts';

const DATA = new URL('../../../shared/data/', import.meta.url);
const COLLECTIONS = ['cranfield', 'korquad-a'] as const;
const PAIRS = 5000;
const FEW_PAIRS = 800;
const OWN_PAIRS = 500;
const WORDS_MIN = 4;

const REFERENCE: SyntheticModel = {
  name: 'reference-768',
  dimensions: 768,
  seed: 101,
  ownShare: 0.6,
  offset: 0.5,
  nonlinearity: 1,
};
const MODELS: readonly SyntheticModel[] = [
  { name: 'even-384', dimensions: 384, seed: 202, ownShare: 0.6, offset: 0.2, nonlinearity: 1 },
  { name: 'skewed-512', dimensions: 512, seed: 303, ownShare: 0.6, offset: 3, nonlinearity: 1 },
];

interface Embedder {
  readonly name: string;
  readonly dimensions: number;
  embed(texts: readonly string[]): Float32Array;
}

interface NamedTexts {
  readonly name: string;
  readonly texts: readonly string[];
}

export async function evaluateCorpus(): Promise<void> {
  if (!COLLECTIONS.every((name) => existsSync(new URL(`retrieval/${name}/docs.jsonl`, DATA)))) {
    console.log('skipped: the directory ../shared/data/retrieval is missing');
    return;
  }
  const halves = COLLECTIONS.map(readHalves);
  const tests = halves.flatMap((half) => half.tests);
  const others = readOtherQueries();
  if (others.length > 0) tests.push({ name: 'dl-queries', texts: others });
  const sources = sourcesOf(halves.map((half) => half.calibration));
  const embedders: Embedder[] = [...MODELS.map(synthetic), lexical];
  const reference = synthetic(REFERENCE);
  console.log(
    `same text found first at ${INDEX_DIMENSIONS} dimensions, in the worse direction; onto ${REFERENCE.name}`,
  );
  console.log(['pairs from'.padEnd(34), 'model'.padEnd(11), ...tests.map(({ name }) => name.padStart(17))].join(' '));
  for (const source of sources) {
    const space = createSpace({ vectors: reference.embed(source.texts), nativeDimension: reference.dimensions });
    const known = tests.map((test) => ({ ...test, canonical: toSpace(space, reference.embed(test.texts)) }));
    for (const model of embedders) {
      const scores = scoreModel(model, source.texts, space, known);
      const cells = scores.map((score) => score.toFixed(3).padStart(17));
      console.log([source.name.padEnd(34), model.name.padEnd(11), ...cells].join(' '));
    }
  }
}

const synthetic = (model: SyntheticModel): Embedder => ({ ...model, embed: openSyntheticModel(model) });
const lexical: Embedder = { name: 'lexical-1', dimensions: LEXICAL_DIMENSIONS, embed: embedLexical };

/** Return canonical vectors before normalisation, like those of `CanonicalSpace.corpus`. */
function toSpace({ nativeDimension, mean, rotation, rank }: CanonicalSpace, vectors: Float32Array): Float32Array {
  const centred = centreRows(vectors, nativeDimension, mean);
  return matmul(centred, centred.length / nativeDimension, nativeDimension, rotation, rank);
}

function scoreModel(
  model: Embedder,
  calibration: readonly string[],
  { corpus, rank }: CanonicalSpace,
  tests: readonly (NamedTexts & { readonly canonical: Float32Array })[],
): number[] {
  const nativeDimension = model.dimensions;
  const map = fitMap({ vectors: model.embed(calibration), nativeDimension, canonical: corpus, rank });
  return tests.map(({ texts, canonical }) => {
    const vectors = model.embed(texts);
    return evaluateMap({ map, vectors, canonical, rank, dimensions: [INDEX_DIMENSIONS] }).score;
  });
}

/** Return the calibration corpora to compare: built-in, mixed, real of both collections and real of one. */
function sourcesOf(collections: readonly NamedTexts[]): NamedTexts[] {
  const builtIn = readCalibrationCorpus().map((entry) => entry.text);
  const own = collections.flatMap(({ texts }) => sample(texts, OWN_PAIRS / collections.length));
  const real = collections.flatMap(({ texts }) => sample(texts, PAIRS / collections.length));
  return [
    { name: `built-in, ${PAIRS}`, texts: sample(builtIn, PAIRS) },
    { name: `built-in, ${FEW_PAIRS}`, texts: sample(builtIn, FEW_PAIRS) },
    { name: `built-in and ${own.length} of both`, texts: [...sample(builtIn, PAIRS - own.length), ...own] },
    { name: `both collections, ${real.length}`, texts: real },
    { name: `both collections, ${FEW_PAIRS}`, texts: sample(real, FEW_PAIRS) },
    ...collections.map(({ name, texts }) => {
      const only = sample(texts, PAIRS);
      return { name: `${name} only, ${only.length}`, texts: only };
    }),
  ];
}

function sample(texts: readonly string[], count: number): string[] {
  return Array.from(shuffledIndices(texts.length, 1).subarray(0, count), (index) => texts[index] as string);
}

/** Split a collection: every other document (in sentences) and query is for calibration, the rest for the test. */
function readHalves(name: string): { calibration: NamedTexts; tests: NamedTexts[] } {
  const documents = readTexts(name, 'docs.jsonl');
  const queries = readTexts(name, 'queries.jsonl');
  const half = (texts: readonly string[], rest: number) => texts.filter((_, index) => index % 2 === rest);
  const sentences = half(documents, 0).flatMap((text) => text.split(/(?<=[.?!])\s+/));
  const known = [...sentences, ...half(queries, 0)].filter((text) => text.split(/\s+/).length >= WORDS_MIN);
  return {
    calibration: { name, texts: [...new Set(known)] },
    tests: [
      { name: `${name} docs`, texts: half(documents, 1) },
      { name: `${name} queries`.slice(0, 17), texts: half(queries, 1) },
    ],
  };
}

function readTexts(collection: string, file: string): string[] {
  const lines = readFileSync(new URL(`retrieval/${collection}/${file}`, DATA), 'utf8').split('\n');
  const texts = lines.filter((line) => line !== '').map((line) => (JSON.parse(line) as { text: string }).text);
  return [...new Set(texts.filter((text) => text.trim() !== ''))];
}

function readOtherQueries(): string[] {
  const file = new URL('paired/dl-queries/queries.tsv', DATA);
  if (!existsSync(file)) return [];
  const texts = readFileSync(file, 'utf8')
    .split('\n')
    .map((line) => line.split('\t')[1] ?? '');
  return [...new Set(texts.filter((text) => text !== ''))];
}
