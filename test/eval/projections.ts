/**
 * `npm run eval -- projections`: quality of maps between real models. The first part uses stored vectors of the same
 * texts by two models. It creates the space from the fitted part alone; figures are means over seeded splits, 80 %
 * fitted, 20 % held out. The second part fits maps on the built-in corpus (`real-models/`).
 */
import { existsSync } from 'node:fs';
import { createSpace, mapOfReference } from '../../src/projection/fit/create-space.ts';
import { type DimensionScores, EVALUATED_DIMENSIONS, evaluateMap } from '../../src/projection/fit/evaluate-map.ts';
import { fitMap } from '../../src/projection/fit/fit-map.ts';
import { projectRows } from '../../src/projection/fit/project-rows.ts';
import { splitPairs } from '../../src/projection/fit/split-pairs.ts';
import { SPACE_DIMENSIONS } from '../../src/projection/schema.ts';
import { dropDuplicates, fileOf, pick, readAll, type Vectors } from './paired-vectors.ts';
import { evaluateRealModels } from './real-models/evaluate.ts';
import { scoreUnseenDomains } from './unseen-domain.ts';

const SPLITS = 5;
const HELD_OUT_SHARE = 0.2;
const NEIGHBOURS_KEPT_MIN = 0.999;
const GAIN_AT_64_MIN = 0.1;

/** Files of a model and a reference with vectors of the same texts in the same order. */
interface Case {
  readonly name: string;
  readonly model: readonly string[];
  readonly reference: readonly string[];
  /** Identity recall@1 at 1,024 dimensions required by the design. */
  readonly recallMin?: number;
}

const MOVIES = 'movie-quotes';
const CASES: readonly Case[] = [
  {
    name: 'MiniLM -> mpnet (movie-quotes + rag-llm)',
    model: [`${MOVIES}/sbert_embeddings`, 'rag-llm/embeddings_minilm'],
    reference: [`${MOVIES}/mpnet_embeddings`, 'rag-llm/embeddings_mpnet'],
    recallMin: 0.97,
  },
  {
    name: 'ada-002 -> cohere-v3 (dl-queries)',
    model: ['dl-queries/openai-ada2'],
    reference: ['dl-queries/cohere-embed-english-v3.0'],
    recallMin: 0.95,
  },
  {
    name: 'cohere-v3 -> ada-002 (dl-queries)',
    model: ['dl-queries/cohere-embed-english-v3.0'],
    reference: ['dl-queries/openai-ada2'],
  },
  {
    name: 'cosDPR -> cohere-v3 (dl-queries)',
    model: ['dl-queries/cos-dpr-distil'],
    reference: ['dl-queries/cohere-embed-english-v3.0'],
  },
  {
    name: 'mpnet -> MiniLM (movie-quotes)',
    model: [`${MOVIES}/mpnet_embeddings`],
    reference: [`${MOVIES}/sbert_embeddings`],
  },
  {
    name: 'BERT -> mpnet (movie-quotes)',
    model: [`${MOVIES}/bert_embeddings`],
    reference: [`${MOVIES}/mpnet_embeddings`],
  },
];

export async function evaluateProjections(): Promise<void> {
  evaluateStoredVectors();
  await evaluateRealModels();
}

function evaluateStoredVectors(): void {
  const files = CASES.flatMap((entry) => [...entry.model, ...entry.reference]);
  if (!files.every((file) => existsSync(fileOf(file)))) {
    console.log('skipped: the directory ../shared/data/paired is missing');
    return;
  }
  console.log(
    `means over ${SPLITS} seeded splits, 80/20; forward / backward: the model searches the reference / is searched`,
  );
  for (const entry of CASES) scoreCase(entry);
  scoreUnseenDomains();
}

function scoreCase({ name, model, reference, recallMin }: Case): void {
  const [x, y] = dropDuplicates(readAll(model), readAll(reference));
  const count = x.values.length / x.columns;
  const splits = Array.from({ length: SPLITS }, (_, seed) => {
    const { fitted, heldOut } = splitPairs(count, HELD_OUT_SHARE, seed);
    const scores = fitAndScore(pick(x, fitted), pick(y, fitted), pick(x, heldOut), pick(y, heldOut), seed);
    return { scores, fitted: fitted.length, heldOut: heldOut.length };
  });
  console.log(`\n${name}: ${splits[0]?.fitted} fitted, ${splits[0]?.heldOut} held out`);
  const means = EVALUATED_DIMENSIONS.map((dimensions) => {
    const at = splits.map(
      (split) => split.scores.find((scores) => scores.dimensions === dimensions) as DimensionScores,
    );
    return (value: (scores: DimensionScores) => number) =>
      at.reduce((sum, scores) => sum + value(scores), 0) / at.length;
  });
  printTable(means);
  const [at64, , at1024, full] = means as [Mean, Mean, Mean, Mean];
  const kept = full((at) => at.retention);
  const gain = at64((at) => at.retention) - at64((at) => at.unrotatedRetention);
  const recall = at1024((at) => at.recallAt1.forward);
  if (recallMin !== undefined) printTarget('recall@1 at 1024', recall, recallMin);
  printTarget('own neighbours kept at full dimension', kept, NEIGHBOURS_KEPT_MIN);
  printTarget('gain over the unrotated prefix at 64', gain, GAIN_AT_64_MIN);
}

function fitAndScore(x: Vectors, y: Vectors, xHeldOut: Vectors, yHeldOut: Vectors, seed: number) {
  const space = createSpace({ vectors: y.values, nativeDimension: y.columns });
  const map = fitMap({
    vectors: x.values,
    nativeDimension: x.columns,
    canonical: space.corpus,
    rank: space.rank,
  });
  const canonical = projectRows(mapOfReference(space), yHeldOut.values, space.rank);
  return evaluateMap({ map, vectors: xHeldOut.values, canonical, rank: space.rank, seed }).scores;
}

type Mean = (value: (scores: DimensionScores) => number) => number;

function printTable(means: readonly Mean[]): void {
  console.log('dims   recall@1       recall@10      overlap@10     own kept  unrotated  mixed share    cosine');
  means.forEach((mean, i) => {
    const dimensions = EVALUATED_DIMENSIONS[i] as number;
    const both = (key: 'recallAt1' | 'recallAt10' | 'overlapAt10' | 'mixedIndexShare') =>
      `${mean((at) => at[key].forward).toFixed(3)} / ${mean((at) => at[key].backward).toFixed(3)}`;
    console.log(
      [
        (dimensions === SPACE_DIMENSIONS ? 'full' : String(dimensions)).padEnd(5),
        both('recallAt1'),
        both('recallAt10'),
        both('overlapAt10'),
        mean((at) => at.retention)
          .toFixed(3)
          .padStart(8),
        mean((at) => at.unrotatedRetention)
          .toFixed(3)
          .padStart(9),
        ` ${both('mixedIndexShare')}`,
        mean((at) => at.meanCosine)
          .toFixed(3)
          .padStart(6),
      ].join('  '),
    );
  });
}

function printTarget(label: string, value: number, min: number): void {
  console.log(`  ${value >= min ? 'met ' : 'MISS'} ${label}: ${value.toFixed(3)} (at least ${min})`);
}
