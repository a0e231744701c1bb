/** Kind of a span: an incoming request, a call to another service, a job from a queue, or internal work. */
export type SpanKind = 'server' | 'client' | 'consumer' | 'internal';

/** Facts about a span. They never include texts, document names, error messages or credentials. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Timed step of a trace. */
export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  /** Place of the span in its trace, as a W3C Trace Context `traceparent` header. */
  readonly traceParent: string;
  startChild(name: string, kind: SpanKind, attributes: SpanAttributes): Span;
  rename(name: string): void;
  setAttributes(attributes: SpanAttributes): void;
  /** @param fault code of the error that ended it; null if it succeeded */
  end(fault: string | null): void;
}

/** Exporter of traces to a collector. */
export interface Tracing {
  /**
   * Start this process's first span in a trace.
   * @param traceParent place in a trace that started elsewhere; ignored if malformed
   */
  startSpan(name: string, kind: SpanKind, traceParent: string | null, attributes: SpanAttributes): Span;
  /** Send the remaining spans, within a few seconds. */
  close(): Promise<void>;
}
