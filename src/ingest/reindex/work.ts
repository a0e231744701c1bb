import type { ChunkArtifact } from '../artifact.ts';
import type { VectorSource } from './plan.ts';
import type { LiveDocument } from './store.ts';

/** A document on its way into the table. */
export interface Work {
  readonly document: LiveDocument;
  readonly source: Exclude<VectorSource, 'skip' | 'refuse'>;
  readonly generation: number;
  /** As stored; `vectors` are replaced by the new ones. */
  artifact: ChunkArtifact;
}
