export const BREAKER_STATES = ['closed', 'half-open', 'open'] as const;

/** Load of one server over the last seconds, from its own metrics. A figure is null if nothing was measured. */
export interface ServerLoad {
  readonly url: string | null;
  /** Reason why the server can't be read; null if it can. */
  readonly trouble: string | null;
  readonly requests: {
    readonly per_second: number;
    /** Share of the responses that were 5xx. */
    readonly fault_rate: number | null;
    readonly p50_ms: number | null;
    readonly p95_ms: number | null;
    /** Requests per second at each reading, the newest last. */
    readonly history: readonly number[];
  };
  readonly texts_per_second: number;
  readonly cache: {
    /** Share of texts that needed no provider call. */
    readonly hit_rate: number | null;
    readonly texts_per_second: number;
    readonly bytes: number;
    readonly history: readonly (number | null)[];
  };
  readonly upstreams: readonly UpstreamLoad[];
  /** Messaging channels with deliveries since the server started. */
  readonly channels: readonly ChannelLoad[];
}

/** Traffic of one messaging channel. */
export interface ChannelLoad {
  /** Id of its configuration. */
  readonly channel: string;
  readonly bot: string;
  readonly deliveries_per_second: number;
  /** Share of the deliveries that exceeded the rate limit. */
  readonly limited_rate: number | null;
  readonly refusals_per_second: number;
  readonly faults_per_second: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
}

/** Calls to one provider. Every attempt counts. */
export interface UpstreamLoad {
  readonly provider: string;
  readonly calls_per_second: number;
  readonly error_rate: number | null;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly in_flight: number;
  readonly queued_texts: number;
  readonly breaker: (typeof BREAKER_STATES)[number];
  /** 95th percentile of the latency at each reading, the newest last. */
  readonly history_p95_ms: readonly (number | null)[];
}
