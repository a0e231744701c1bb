import type { MoveStep } from '../cells/move-context.ts';
import type { Progress } from './progress.ts';

const LABELS: Readonly<Record<MoveStep['phase'], string>> = {
  jobs: 'jobs in progress',
  rows: 'tables',
  files: 'files',
  checking: 'checking files',
  index: 'indexing chunks',
};

/** Show the steps of a backup, a verification, a restore or a move as phases of a progress view. */
export function showSteps(progress: Progress): (step: MoveStep) => void {
  let phase: string | null = null;
  return ({ phase: next, done, total }) => {
    // Without a total, there is no progress to show.
    if (total === null) return;
    if (next !== phase) progress.begin(LABELS[next], total);
    phase = next;
    progress.update(done);
  };
}
