import type { VectorOrigin } from '../../src/embedding/model-choice.ts';

/** Origin of vectors for tests that write to an index by themselves, in a space of their choice. */
export function originIn(space: string): VectorOrigin {
  return { model: 'local/test', revision: null, space };
}
