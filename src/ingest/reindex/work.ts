import type { ChunkArtifact } from '../artifact.ts';
import type { VectorSource } from './plan.ts';
import type { LiveDocument } from './store.ts';

/** A document on its way into the table. */
export interface Work {
  readonly document: LiveDocument;
  readonly source: Exclude<VectorSource, 'skip' | 'refuse'>;
  readonly generation: number;
  /** As stored, without its vectors where none of them is used; `vectors` are replaced by the new ones. */
  artifact: ChunkArtifact;
  /** Analysed text of each chunk, for keyword search. */
  readonly tokens: readonly string[];
}
