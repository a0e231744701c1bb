import type { Engine } from '../../documents/schema.ts';
import type { VectorOrigin } from '../../embedding/model-choice.ts';
import type { VectorFacts } from '../../index/index-store.ts';
import type { ReindexKind } from '../../index/writing/reindex-store.ts';
import type { Model } from '../../models/catalog.ts';
import type { ActiveMap } from '../../projection/projections.ts';

/**
 * Source of a document's new vectors. `keep`: the unchanged stored vectors. `project`: the stored native vectors,
 * through the active map. `embed`: its text, through a provider. `skip`: none, the document stays unchanged. `refuse`:
 * the document can neither stay nor change.
 */
export type VectorSource = 'keep' | 'project' | 'embed' | 'skip' | 'refuse';

/** Plan to rebuild a bucket's index. */
export interface ReindexPlan {
  readonly kind: ReindexKind;
  readonly bucketId: string;
  readonly bucketName: string;
  /** New engine of the index; undefined to keep the bucket's. */
  readonly engine?: Engine;
  /**
   * `in_place`: the latent space stays, and documents change batch by batch. `new_table`: a second table is built and
   * replaces the current one. `nothing`: there is nothing to do.
   */
  readonly mode: 'in_place' | 'new_table' | 'nothing';
  /** New model and space of the index; null to keep them, since the plan computes no vectors. */
  readonly origin: VectorOrigin | null;
  readonly sourceOf: (facts: VectorFacts) => VectorSource;
  /** Return the map of a model, or null to use its native vectors unchanged. */
  readonly mapOf: (modelId: string) => ActiveMap | null;
  /** Model that embeds texts; null if none is needed. */
  readonly embedder: Model | null;
  /** Number of documents and chunks that get new rows. */
  readonly documents: number;
  readonly chunks: number;
  /**
   * Limits of a run that shares a slow model: chunks per batch, with one batch embedded at a time, and chunks after
   * which the run ends, so that other buckets get their turn. Undefined for large concurrent batches.
   */
  readonly bounds?: { readonly batchChunks: number; readonly chunks: number };
  readonly warnings: readonly string[];
}
