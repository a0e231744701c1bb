import {
  type Coefficients,
  lengthOf,
  type RelevanceFeatures,
  rowsTerm,
} from '../../../src/search/relevance/estimate.ts';

const STEPS = 40;
const CHANGE_MIN = 1e-7;
/** Weight of the penalty of large coefficients, which decides between features that nearly repeat each other. */
const RIDGE = 1e-6;

/** Result with its weight in the fit. */
export interface Weighed extends RelevanceFeatures {
  readonly isRelevant: boolean;
  readonly weight: number;
}

/** Return the factor of each coefficient in the estimate of a result. */
function factorsOf(features: RelevanceFeatures): Record<keyof Coefficients, number> {
  const excess = features.excess ?? 0;
  const long = lengthOf(features.words);
  return {
    ...{ constant: 1, coverage: features.coverage, excess, rows: rowsTerm(features.rows) },
    ...{ long, longExcess: long * excess },
  };
}

/**
 * Fit some coefficients of a logistic regression by Newton's method, rounded to hundredths. The others stay as given.
 */
export function fitCoefficients(
  judged: readonly Weighed[],
  given: Coefficients,
  fitted: readonly (keyof Coefficients)[],
): Coefficients {
  const total = judged.reduce((sum, { weight }) => sum + weight, 0);
  const rows = judged.map((each) => ({ ...each, weight: each.weight / total, factors: factorsOf(each) }));
  const own: Record<keyof Coefficients, number> = { ...given };
  const names = Object.keys(own) as (keyof Coefficients)[];
  for (let step = 0; step < STEPS; step++) {
    const slope = fitted.map((name) => RIDGE * own[name]);
    const curve = fitted.map((_, at) => fitted.map((_, other) => (at === other ? RIDGE : 0)));
    for (const { factors, weight, isRelevant } of rows) {
      const sum = names.reduce((value, name) => value + own[name] * factors[name], 0);
      const probability = 1 / (1 + Math.exp(-sum));
      const error = weight * (probability - (isRelevant ? 1 : 0));
      const steep = weight * probability * (1 - probability);
      for (const [at, name] of fitted.entries()) {
        slope[at] = (slope[at] as number) + error * factors[name];
        const line = curve[at] as number[];
        for (const [other, second] of fitted.entries()) {
          line[other] = (line[other] as number) + steep * factors[name] * factors[second];
        }
      }
    }
    const change = solve(curve, slope);
    for (const [at, name] of fitted.entries()) own[name] -= change[at] as number;
    if (Math.max(...change.map(Math.abs)) < CHANGE_MIN) break;
  }
  for (const name of fitted) own[name] = Math.round(own[name] * 100) / 100;
  return own;
}

/** Solve a small system of equations by elimination. The matrix is symmetric and positive definite. */
function solve(matrix: readonly (readonly number[])[], values: readonly number[]): number[] {
  const lines = matrix.map((line, at) => [...line, values[at] as number]);
  const size = lines.length;
  for (let at = 0; at < size; at++) {
    const pivot = lines[at] as number[];
    for (let below = 0; below < size; below++) {
      if (below === at) continue;
      const line = lines[below] as number[];
      const factor = (line[at] as number) / (pivot[at] as number);
      for (let column = at; column <= size; column++) {
        line[column] = (line[column] as number) - factor * (pivot[column] as number);
      }
    }
  }
  return lines.map((line, at) => (line[size] as number) / (line[at] as number));
}
