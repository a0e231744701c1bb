/**
 * `npm run eval -- output-types`: neighbours that vectors keep as bytes and as bits. The space is created from every second
 * text; the others are searched. A figure is the share of the ten nearest neighbours by floats, without the text itself,
 * that are among the first ten, or the first forty, by the other type on both sides.
 */
import { existsSync } from 'node:fs';
import { convertVectors, OutputType } from '../../src/embedding/output-types.ts';
import { createSpace, mapOfReference } from '../../src/projection/fit/create-space.ts';
import { projectRows } from '../../src/projection/fit/project-rows.ts';
import { resizeVectors } from '../../src/projection/resize.ts';
import { dropDuplicates, fileOf, pick, readAll, type Vectors } from './paired-vectors.ts';

const MODELS = {
  mpnet: ['movie-quotes/mpnet_embeddings', 'rag-llm/embeddings_mpnet'],
  'cohere-v3': ['dl-queries/cohere-embed-english-v3.0'],
  'ada-002': ['dl-queries/openai-ada2'],
  bert: ['movie-quotes/bert_embeddings'],
};
const DIMENSIONS = [256, 1024, 3072];
const NEIGHBOURS = 10;
const NEIGHBOURS_MORE = 40;

type Similarity = (query: number, document: number) => number;

export async function evaluateOutputTypes(): Promise<void> {
  for (const [model, files] of Object.entries(MODELS)) {
    if (!files.every((file) => existsSync(fileOf(file)))) {
      console.log(`skipped ${model}: its vectors are missing in ../shared/data/paired`);
      continue;
    }
    const all = readAll(files);
    await evaluateModel(model, dropDuplicates(all, all)[0]);
  }
}

async function evaluateModel(model: string, vectors: Vectors): Promise<void> {
  const rows = [...Array(vectors.values.length / vectors.columns).keys()];
  const fitted = pick(
    vectors,
    rows.filter((row) => row % 2 === 0),
  );
  const searched = pick(
    vectors,
    rows.filter((row) => row % 2 === 1),
  );
  const space = createSpace({ vectors: fitted.values, nativeDimension: fitted.columns });
  const projected = projectRows(mapOfReference(space), searched.values, space.rank);
  const count = searched.values.length / searched.columns;
  for (const dimensions of DIMENSIONS) {
    const floats = resizeVectors(projected, projected.length / count, dimensions);
    const nearest = neighboursOf(count, dotProduct(floats, dimensions), NEIGHBOURS);
    const figures = [];
    for (const type of OutputType.exclude(['float']).options) {
      const { rows: bytes, columns } = await convertVectors(floats, dimensions, type);
      const similarity = type.endsWith('binary') ? equalBits(bytes, columns) : nearness(bytes, columns);
      const kept = [NEIGHBOURS, NEIGHBOURS_MORE].map((depth) =>
        shareOf(nearest, neighboursOf(count, similarity, depth)),
      );
      figures.push(`${type} ${kept.map((share) => share.toFixed(3)).join(' ')}`);
    }
    console.log(`${model}, ${count} texts, ${dimensions} dimensions: ${figures.join(', ')}`);
  }
}

function neighboursOf(count: number, similarity: Similarity, depth: number): number[][] {
  const rows = [...Array(count).keys()];
  return rows.map((query) => {
    const scores = rows.map((row) => similarity(query, row));
    const others = rows.filter((row) => row !== query);
    return others.sort((a, b) => (scores[b] as number) - (scores[a] as number)).slice(0, depth);
  });
}

function shareOf(expected: readonly number[][], found: readonly number[][]): number {
  const hits = expected.map((rows, query) => rows.filter((row) => found[query]?.includes(row)).length);
  return hits.reduce((sum, hit) => sum + hit, 0) / (expected.length * NEIGHBOURS);
}

function dotProduct(values: ArrayLike<number>, columns: number): Similarity {
  return (a, b) => {
    let sum = 0;
    for (let i = 0; i < columns; i++) {
      sum += (values[a * columns + i] as number) * (values[b * columns + i] as number);
    }
    return sum;
  };
}

/** Negative Euclidean distance, which has a meaning for unsigned bytes too. */
function nearness(values: ArrayLike<number>, columns: number): Similarity {
  return (a, b) => {
    let sum = 0;
    for (let i = 0; i < columns; i++) {
      sum -= ((values[a * columns + i] as number) - (values[b * columns + i] as number)) ** 2;
    }
    return sum;
  };
}

/** Negative Hamming distance. */
function equalBits(values: ArrayLike<number>, columns: number): Similarity {
  return (a, b) => {
    let different = 0;
    for (let i = 0; i < columns; i++) {
      let bits = ((values[a * columns + i] as number) ^ (values[b * columns + i] as number)) & 0xff;
      for (; bits !== 0; bits &= bits - 1) different++;
    }
    return -different;
  };
}
