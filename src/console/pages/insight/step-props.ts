import type { Asked, BucketView } from '../../types.ts';

/** Question that a step helps to answer. */
export interface StepProps {
  readonly asked: Asked;
  /** Buckets that were searched for the question. */
  readonly buckets: readonly BucketView[];
  readonly onClose: () => void;
}
