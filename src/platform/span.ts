/** Kind of a span: an answered request, a call to another service, a job taken from a queue, or work inside. */
export type SpanKind = 'server' | 'client' | 'consumer' | 'internal';

/** Facts about a span. They never include texts, document names, error messages or credentials. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Timed step of a trace. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** Place of the span in its trace, as the header `traceparent` of W3C Trace Context. */
  readonly traceParent: string;
  startChild(name: string, kind: SpanKind, attributes: SpanAttributes): Span;
  rename(name: string): void;
  setAttributes(attributes: SpanAttributes): void;
  /** @param fault code of the error that ended it; null if it succeeded */
  end(fault: string | null): void;
}

/** Sender of traces to a collector. */
export interface Tracing {
  /**
   * Start the first span of this process in a trace.
   * @param traceParent place in a trace that began elsewhere; ignored if malformed
   */
  startSpan(name: string, kind: SpanKind, traceParent: string | null, attributes: SpanAttributes): Span;
  /** Send the remaining spans, within a few seconds. */
  close(): Promise<void>;
}
