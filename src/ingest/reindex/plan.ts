import type { Engine } from '../../documents/schema.ts';
import type { VectorOrigin } from '../../embedding/model-choice.ts';
import type { VectorFacts } from '../../index/index-store.ts';
import type { ReindexKind } from '../../index/writing/reindex-store.ts';
import type { Model } from '../../models/catalog.ts';
import type { ActiveMap } from '../../projection/projections.ts';

/**
 * Source of the new vectors of a document. `keep`: the stored vectors as they are. `project`: the stored native
 * vectors, through the map in use. `embed`: its text, by a provider. `skip`: nothing, the document stays as it is.
 * `refuse`: the document can neither stay nor change.
 */
export type VectorSource = 'keep' | 'project' | 'embed' | 'skip' | 'refuse';

/** Plan to rebuild the index of a bucket. */
export interface ReindexPlan {
  readonly kind: ReindexKind;
  readonly bucketId: string;
  readonly bucketName: string;
  /** Engine that holds the index afterwards; undefined to keep the bucket's. */
  readonly engine?: Engine;
  /**
   * `in_place`: the latent space stays, and documents change one batch after the other. `new_table`: a second table
   * is built and replaces the present one. `nothing`: there is nothing to do.
   */
  readonly mode: 'in_place' | 'new_table' | 'nothing';
  /** Model and space of the index afterwards; null to keep them, since the plan makes no vectors. */
  readonly origin: VectorOrigin | null;
  readonly sourceOf: (facts: VectorFacts) => VectorSource;
  /** Return the map of a model; null to use its native vectors as they are. */
  readonly mapOf: (modelId: string) => ActiveMap | null;
  /** Model that embeds texts; null if no text is embedded. */
  readonly embedder: Model | null;
  /** Documents and chunks that get new rows. */
  readonly documents: number;
  readonly chunks: number;
  /**
   * Bounds of a run that shares a slow model: chunks of a batch, of which one is embedded at a time, and chunks after
   * which the run ends, so that other buckets have their turn. Undefined for large batches side by side.
   */
  readonly bounds?: { readonly batchChunks: number; readonly chunks: number };
  readonly warnings: readonly string[];
}
