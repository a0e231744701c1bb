/** Way of making one vector of the vectors of all tokens. */
export const POOLINGS = ['mean', 'cls', 'last'] as const;
export type Pooling = (typeof POOLINGS)[number];

/** The only argument of a model process, in JSON. */
export interface ModelArgument {
  /** Path of the library of ONNX Runtime. */
  readonly library: string;
  /** Path of the model, in ONNX. */
  readonly model: string;
  /** Path of its `tokenizer.json`. */
  readonly tokenizer: string;
  readonly kind: 'embedding' | 'reranker';
  readonly pooling: Pooling;
  /** Longer texts are cut. The caller refuses them before, where the contract says so. */
  readonly maxTokens: number;
  readonly padId: number;
  readonly threads: number;
  /** Bound of the tokens of a batch, padding included. */
  readonly batchTokensMax: number;
}

/** Message to a model process. */
export type ModelRequest =
  | {
      readonly type: 'run';
      readonly id: number;
      readonly texts: readonly string[];
      /** Query that a reranker compares each text with; null for an embedding model. */
      readonly query: string | null;
      /** Work that waits while other work is there. */
      readonly isBackground: boolean;
    }
  | { readonly type: 'cancel'; readonly id: number };

/** Message of a model process. */
export type ModelReply =
  /** It is loaded; `dimension` is the length of its vectors, 1 for a reranker. */
  | { readonly type: 'ready'; readonly dimension: number; readonly residentBytes: number }
  /** It cannot be loaded. */
  | { readonly type: 'unusable'; readonly reason: string }
  /** `values` is [texts x dimension]: unit vectors, or scores of 0 to 1. */
  | { readonly type: 'done'; readonly id: number; readonly values: Float32Array; readonly residentBytes: number }
  | { readonly type: 'failed'; readonly id: number; readonly reason: string };
