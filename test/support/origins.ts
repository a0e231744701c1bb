import type { VectorOrigin } from '../../src/embedding/model-choice.ts';

/** Origin of vectors in a given space, for tests that write to an index directly. */
export function originIn(space: string): VectorOrigin {
  return { model: 'local/test', revision: null, space };
}
