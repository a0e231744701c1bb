/** Passages of one language with queries and the passages that answer each, written for this project. */
export interface JudgedSet {
  readonly language: string;
  /** Passages. A passage's id is its position. */
  readonly passages: readonly string[];
  /** Queries, each with the ids of the passages that answer it. */
  readonly queries: readonly {
    readonly text: string;
    readonly answers: readonly number[];
    /** True if the answer contains no word of the query, so that only a semantic model finds it. */
    readonly needsMeaning?: true;
  }[];
}
