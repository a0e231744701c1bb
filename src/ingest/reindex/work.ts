import type { ChunkArtifact } from '../artifact.ts';
import type { VectorSource } from './plan.ts';
import type { LiveDocument } from './store.ts';

/** Document on its way into the table. */
export interface Work {
  readonly document: LiveDocument;
  readonly source: Exclude<VectorSource, 'skip' | 'refuse'>;
  readonly generation: number;
  /** Stored artifact, without its vectors if none is used. The new vectors replace `vectors`. */
  artifact: ChunkArtifact;
  /** Analysed text per chunk, for keyword search. */
  readonly tokens: readonly string[];
}
