/** Texts to score against a query. */
export interface RerankTask {
  readonly query: string;
  readonly texts: readonly string[];
  /** Time limit of all calls. By default the time that a search waits. */
  readonly timeoutMs?: number;
  /** Attempts after the first one; none by default, since a search waits for them. */
  readonly retriesMax?: number;
  /** Refuse texts that are too long, if the protocol can. By default they are cut. */
  readonly refusesLong?: boolean;
}

export interface RerankScores {
  /** Finite score of each text, in the order of the texts; a higher one is better. */
  readonly scores: readonly number[];
  /** Tokens that the vendor counted, or null if it reports none. */
  readonly tokens: number | null;
}

export interface Reranker {
  /** Name of the model in requests. */
  readonly id: string;
  /** Protocol of its vendor, or `local`. */
  readonly owner: string;
  /**
   * Score how well each text answers the query.
   *
   * @throws AppError `provider_unavailable` if a call fails, times out or the circuit breaker is open,
   *   `upstream_rejected` (400) if the vendor refuses the texts; the signal's reason once it is aborted
   */
  score(task: RerankTask, signal: AbortSignal | undefined): Promise<RerankScores>;
  close(): Promise<void>;
}
