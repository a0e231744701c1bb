/** Passages of one language with queries and the passages that answer each, written for this project. */
export interface JudgedSet {
  readonly language: string;
  /** Passages; the id of a passage is its place. */
  readonly passages: readonly string[];
  /** Queries, each with the ids of the passages that answer it. */
  readonly queries: readonly {
    readonly text: string;
    readonly answers: readonly number[];
    /** The answer has no word of the query, so that only a model with meaning finds it. */
    readonly needsMeaning?: true;
  }[];
}
