/** Texts to score against a query. */
export interface RerankTask {
  readonly query: string;
  readonly texts: readonly string[];
  /** Time limit of all calls together; by default that of a search. */
  readonly timeoutMs?: number;
  /** Maximum number of retries; by default none, since a search is waiting. */
  readonly retriesMax?: number;
  /** True to refuse texts that are too long, if the protocol can. By default they are truncated. */
  readonly refusesLong?: boolean;
}

export interface RerankScores {
  /** Finite score per text, in the order of the texts; higher is better. */
  readonly scores: readonly number[];
  /** Token count reported by the vendor, or null. */
  readonly tokens: number | null;
}

export interface Reranker {
  /** Model name in requests. */
  readonly id: string;
  /** Vendor's protocol, or `local`. */
  readonly owner: string;
  /**
   * Score how well each text answers the query.
   *
   * @throws AppError `provider_unavailable` if a call fails or times out, or the circuit breaker is open,
   *   `upstream_rejected` (400) if the vendor refuses the texts; the reason of the signal once it is aborted
   */
  score(task: RerankTask, signal: AbortSignal | undefined): Promise<RerankScores>;
  close(): Promise<void>;
}
