import type { DimensionScores, Evaluation } from '../projection/fit/evaluate-map.ts';
import type { Column } from './table.ts';

type ShowTable = (
  noun: string,
  rows: readonly DimensionScores[],
  columns: readonly Column<DimensionScores>[],
) => Promise<void>;

/** Show the scores of a fit, one line per dimension. `a / b` is the direction from the model to the space and back. */
export async function showScores(scores: unknown, showTable: ShowTable): Promise<void> {
  const evaluation = scores as Partial<Evaluation>;
  if (!evaluation.scores) return;
  const both = ({ forward, backward }: { forward: number; backward: number }) =>
    `${forward.toFixed(3)} / ${backward.toFixed(3)}`;
  await showTable('figures', evaluation.scores, [
    ['dimensions', (row) => row.dimensions],
    ['recall@1', (row) => both(row.recallAt1)],
    ['recall@10', (row) => both(row.recallAt10)],
    ['overlap@10', (row) => both(row.overlapAt10)],
    ['own neighbours', (row) => row.retention.toFixed(3)],
    ['unrotated', (row) => row.unrotatedRetention.toFixed(3)],
    ['mixed share', (row) => both(row.mixedIndexShare)],
    ['cosine', (row) => row.meanCosine.toFixed(3)],
  ]);
}
