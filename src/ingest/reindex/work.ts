import type { ChunkArtifact } from '../artifact.ts';
import type { VectorSource } from './plan.ts';
import type { LiveDocument } from './store.ts';

/** Document on its way into the table. */
export interface Work {
  readonly document: LiveDocument;
  readonly source: Exclude<VectorSource, 'skip' | 'refuse'>;
  readonly generation: number;
  /** As stored, but without its vectors if none of them is used. The new vectors replace `vectors`. */
  artifact: ChunkArtifact;
  /** Analysed text of each chunk, for keyword search. */
  readonly tokens: readonly string[];
}
