/** Methods that combine the vectors of all tokens into one vector. */
export const POOLINGS = ['mean', 'cls', 'last'] as const;
export type Pooling = (typeof POOLINGS)[number];

/** The only argument of a model process, in JSON. */
export interface ModelArgument {
  /** Path of the library of ONNX Runtime. */
  readonly library: string;
  /** Path of the model, in ONNX. */
  readonly model: string;
  /** SHA-256 that the file of the model must have, or null. */
  readonly sha256: string | null;
  /** Path of its `tokenizer.json`. */
  readonly tokenizer: string;
  readonly kind: 'embedding' | 'reranker';
  readonly pooling: Pooling;
  readonly maxTokens: number;
  /** Treatment of a longer text: it is cut, or its vector is the mean of its parts, weighted by their tokens. */
  readonly longTexts: 'cut' | 'mean';
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
      /** Query to compare each text with, or null for an embedding model. */
      readonly query: string | null;
      /** True for work that yields to other work. */
      readonly isBackground: boolean;
    }
  | { readonly type: 'cancel'; readonly id: number };

/** Message of a model process. */
export type ModelReply =
  /** The model is loaded. `dimension` is the length of its vectors, 1 for a reranker. */
  | { readonly type: 'ready'; readonly dimension: number; readonly residentBytes: number }
  /** The model cannot be loaded. */
  | { readonly type: 'unusable'; readonly reason: string }
  /** `values` is [texts x dimension]: unit vectors, or scores of 0 to 1. */
  | { readonly type: 'done'; readonly id: number; readonly values: Float32Array; readonly residentBytes: number }
  | { readonly type: 'failed'; readonly id: number; readonly reason: string }
  /** A batch is computed, and others wait. */
  | { readonly type: 'alive' };
