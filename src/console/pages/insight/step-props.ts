import type { Asked, BucketView } from '../../types.ts';

/** Question from which a step leads to its answer. */
export interface StepProps {
  readonly asked: Asked;
  /** Buckets that the question was asked to. */
  readonly buckets: readonly BucketView[];
  readonly onClose: () => void;
}
