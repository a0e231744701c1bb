/**
 * Leave-one-domain-out study: maps between two real models are fitted on one domain and measured on another, by several
 * methods. A figure is identity recall@1 at full dimension; forward: the model searches the reference.
 */
import { fitMap } from '../../src/projection/fit/fit-map.ts';
import { centreRows, meanOfRows, normaliseRows, secondMoment } from '../../src/projection/fit/rows.ts';
import { shuffledIndices } from '../../src/projection/fit/split-pairs.ts';
import { symmetricEigen } from '../../src/projection/fit/symmetric-eigen.ts';
import { matmul, timesTranspose, transposeTimes } from '../../src/projection/kernel/matmul.ts';
import type { FitMethod } from '../../src/projection/schema.ts';
import { dropDuplicates, pick, readAll, type Vectors } from './paired-vectors.ts';

/** Row-aligned vectors of the same texts by a model and by the reference. */
interface Pairs {
  readonly model: Vectors;
  readonly reference: Vectors;
}

/** Linear map of centred vectors. */
interface LinearMap {
  readonly modelMean: Float32Array;
  readonly referenceMean: Float32Array;
  /** Float32Array [model dimensions x reference dimensions] */
  readonly weights: Float32Array;
}

const SHARES = [20, 50, 100];
const RESIDUAL_RANK = 16;
const RIDGE = 10;

export function scoreUnseenDomains(): void {
  const minilm = ['movie-quotes/sbert_embeddings', 'rag-llm/embeddings_minilm'] as const;
  const mpnet = ['movie-quotes/mpnet_embeddings', 'rag-llm/embeddings_mpnet'] as const;
  const domains = [0, 1].map((at) => dropDuplicates(readAll([minilm[at as 0]]), readAll([mpnet[at as 0]])));
  const [movies, rag] = domains.map(([model, reference]) => ({ model, reference })) as [Pairs, Pairs];
  const swap = ({ model, reference }: Pairs): Pairs => ({ model: reference, reference: model });
  scoreDomain('MiniLM -> mpnet, fitted on movie-quotes, measured on rag-llm', movies, rag);
  scoreDomain('MiniLM -> mpnet, fitted on rag-llm, measured on movie-quotes', rag, movies);
  scoreDomain('mpnet -> MiniLM, fitted on movie-quotes, measured on rag-llm', swap(movies), swap(rag));
  scoreDomain('mpnet -> MiniLM, fitted on rag-llm, measured on movie-quotes', swap(rag), swap(movies));
}

function scoreDomain(name: string, fitted: Pairs, unseen: Pairs): void {
  console.log(`\n${name}: ${rowsIn(fitted)} fitted, ${rowsIn(unseen)} measured; recall@1 forward / backward`);
  const procrustes = fitOrthogonal(fitted, 'procrustes');
  report('procrustes', procrustes, unseen);
  report('polar factor of the ridge regression', fitOrthogonal(fitted, 'ridge'), unseen);
  report('ridge regression', ridge(fitted, 1, null), unseen);
  report('ridge towards the orthogonal map', ridge(fitted, RIDGE, procrustes.weights), unseen);
  report(`orthogonal map and residual of rank ${RESIDUAL_RANK}`, withResidual(fitted, procrustes), unseen);
  report('procrustes, means of the unseen domain', { ...procrustes, ...meansOf(unseen) }, unseen);
  for (const share of SHARES) {
    const order = shuffledIndices(rowsIn(unseen), 1);
    const own = pickPairs(unseen, order.subarray(0, share));
    const rest = pickPairs(unseen, order.subarray(share));
    report(`procrustes with ${share} pairs of the unseen domain`, fitOrthogonal(join(fitted, own), 'procrustes'), rest);
  }
}

function report(method: string, map: LinearMap, pairs: Pairs): void {
  const { model, reference } = pairs;
  const centred = centreRows(model.values, model.columns, map.modelMean);
  const mapped = matmul(centred, rowsIn(pairs), model.columns, map.weights, reference.columns);
  const found = normaliseRows(mapped, reference.columns);
  const target = normaliseRows(centreRows(reference.values, reference.columns, map.referenceMean), reference.columns);
  const forward = recallAtOne(found, target, reference.columns);
  const backward = recallAtOne(target, found, reference.columns);
  console.log(`  ${method.padEnd(48)} ${forward.toFixed(3)} / ${backward.toFixed(3)}`);
}

function recallAtOne(queries: Float32Array, targets: Float32Array, columns: number): number {
  const rows = queries.length / columns;
  const scores = timesTranspose(queries, targets, rows, columns, rows);
  let found = 0;
  for (let row = 0; row < rows; row++) {
    const own = scores.subarray(row * rows, (row + 1) * rows);
    if (own.every((score) => score <= (own[row] as number))) found++;
  }
  return found / rows;
}

function fitOrthogonal(pairs: Pairs, method: FitMethod): LinearMap {
  const { model, reference } = pairs;
  const { modelMean, referenceMean } = meansOf(pairs);
  const canonical = centreRows(reference.values, reference.columns, referenceMean);
  const map = fitMap({
    ...{ vectors: model.values, nativeDimension: model.columns, canonical, rank: reference.columns, method },
  });
  // Private axes carry nothing that the reference has.
  const weights = new Float32Array(model.columns * reference.columns);
  for (let row = 0; row < model.columns; row++) {
    const own = map.weights.subarray(row * map.rank, row * map.rank + reference.columns);
    weights.set(own, row * reference.columns);
  }
  return { modelMean, referenceMean, weights };
}

/** Solve min |XW - Y|² + ridge |W - towards|², with the ridge as a multiple of the mean eigenvalue. */
function ridge(pairs: Pairs, multiple: number, towards: Float32Array | null): LinearMap {
  const { model, reference } = pairs;
  const means = meansOf(pairs);
  const x = centreRows(model.values, model.columns, means.modelMean);
  const y = centreRows(reference.values, reference.columns, means.referenceMean);
  const rows = rowsIn(pairs);
  const { values, vectors } = symmetricEigen(secondMoment(x, model.columns), model.columns);
  const shift = (multiple * values.reduce((sum, value) => sum + value, 0)) / model.columns;
  const sides = transposeTimes(x, y, rows, model.columns, reference.columns).map(
    (value, at) => value / rows + (towards === null ? 0 : shift * (towards[at] as number)),
  );
  const rotated = transposeTimes(vectors, sides, model.columns, model.columns, reference.columns).map(
    (value, at) => value / (Math.max(0, values[Math.floor(at / reference.columns)] as number) + shift),
  );
  return { ...means, weights: matmul(vectors, model.columns, model.columns, rotated, reference.columns) };
}

/** Add the best residual of a low rank to an orthogonal map. */
function withResidual(pairs: Pairs, map: LinearMap): LinearMap {
  const { reference } = pairs;
  const columns = reference.columns;
  const full = ridge(pairs, RIDGE, map.weights).weights.map((value, at) => value - (map.weights[at] as number));
  const rows = full.length / columns;
  const axes = symmetricEigen(transposeTimes(full, full, rows, columns, columns), columns).vectors;
  const kept = new Float32Array(columns * RESIDUAL_RANK);
  for (let row = 0; row < columns; row++) {
    kept.set(axes.subarray(row * columns, row * columns + RESIDUAL_RANK), row * RESIDUAL_RANK);
  }
  const low = timesTranspose(matmul(full, rows, columns, kept, RESIDUAL_RANK), kept, rows, RESIDUAL_RANK, columns);
  return { ...map, weights: map.weights.map((value, at) => value + (low[at] as number)) };
}

function meansOf({ model, reference }: Pairs): Pick<LinearMap, 'modelMean' | 'referenceMean'> {
  const mean = ({ values, columns }: Vectors) => meanOfRows(normaliseRows(values, columns), columns);
  return { modelMean: mean(model), referenceMean: mean(reference) };
}

function rowsIn({ model }: Pairs): number {
  return model.values.length / model.columns;
}

function pickPairs({ model, reference }: Pairs, rows: ArrayLike<number>): Pairs {
  return { model: pick(model, rows), reference: pick(reference, rows) };
}

function join(a: Pairs, b: Pairs): Pairs {
  const both = (x: Vectors, y: Vectors): Vectors => {
    const values = new Float32Array(x.values.length + y.values.length);
    values.set(x.values);
    values.set(y.values, x.values.length);
    return { values, columns: x.columns };
  };
  return { model: both(a.model, b.model), reference: both(a.reference, b.reference) };
}
