/** Methods of combining the vectors of all tokens into one vector. */
export const POOLINGS = ['mean', 'cls', 'last'] as const;
export type Pooling = (typeof POOLINGS)[number];

/** The only argument of a model process, in JSON. */
export interface ModelArgument {
  /** Path of the ONNX Runtime library. */
  readonly library: string;
  /** Path of the ONNX model. */
  readonly model: string;
  /** Required SHA-256 of the model file, or null. */
  readonly sha256: string | null;
  /** Path of its `tokenizer.json`. */
  readonly tokenizer: string;
  readonly kind: 'embedding' | 'reranker';
  readonly pooling: Pooling;
  readonly maxTokens: number;
  /** Treatment of longer texts: truncate, or average the vectors of the parts, weighted by tokens. */
  readonly longTexts: 'cut' | 'mean';
  readonly padId: number;
  readonly threads: number;
  /** Maximum tokens of a batch, including padding. */
  readonly batchTokensMax: number;
}

/** Message to a model process. */
export type ModelRequest =
  | {
      readonly type: 'run';
      readonly id: number;
      readonly texts: readonly string[];
      /** Query to compare each text with; null for an embedding model. */
      readonly query: string | null;
      /** True for work that yields to other work. */
      readonly isBackground: boolean;
    }
  | { readonly type: 'cancel'; readonly id: number };

/** Message of a model process. */
export type ModelReply =
  /** The model is loaded. `dimension` is the length of its vectors, 1 for a reranker. */
  | { readonly type: 'ready'; readonly dimension: number; readonly residentBytes: number }
  /** The model can't be loaded. */
  | { readonly type: 'unusable'; readonly reason: string }
  /** `values` is [texts x dimension]: unit vectors, or scores of 0 to 1. */
  | { readonly type: 'done'; readonly id: number; readonly values: Float32Array; readonly residentBytes: number }
  | { readonly type: 'failed'; readonly id: number; readonly reason: string }
  /** A batch is done, and others are waiting. */
  | { readonly type: 'alive' };
