import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Context,
  type Span as OtelSpan,
  SpanKind as OtelSpanKind,
  ROOT_CONTEXT,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from './logger.ts';
import type { Span, SpanAttributes, SpanKind, Tracing } from './span.ts';
import type { TracingSettings } from './tracing-settings.ts';
import { VERSION } from './version.ts';
import { runFor } from './work-context.ts';

/** Maximum number of ended spans waiting to be sent. Further ones are dropped. */
const QUEUED_SPANS_MAX = 4_096;
const SPANS_PER_EXPORT_MAX = 512;
const EXPORT_EVERY_MS = 1_000;
const EXPORT_MS_MAX = 5_000;
/** Time limit for sending the last spans at shutdown, in case the collector doesn't answer. */
const CLOSE_MS_MAX = 3_000;
const WARN_EVERY_MS = 60_000;

const KINDS: Readonly<Record<SpanKind, OtelSpanKind>> = {
  server: OtelSpanKind.SERVER,
  client: OtelSpanKind.CLIENT,
  consumer: OtelSpanKind.CONSUMER,
  internal: OtelSpanKind.INTERNAL,
};

/** Open an exporter of traces by OTLP over HTTP, in protobuf. It registers nothing globally. */
export function openOtlpTracing(settings: TracingSettings, logger: Logger): Tracing {
  const headers = Object.fromEntries(Object.entries(settings.headers).map(([name, value]) => [name, value.reveal()]));
  const url = `${settings.endpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: EXPORT_MS_MAX });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': settings.serviceName,
      'service.version': VERSION,
      'service.instance.id': `${hostname()}:${process.pid}`,
      'host.name': hostname(),
      'process.pid': process.pid,
    }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(settings.sampleRatio) }),
    spanLimits: { attributeValueLengthLimit: 256 },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: reportFailures(exporter, logger),
        maxQueueSize: QUEUED_SPANS_MAX,
        maxExportBatchSize: SPANS_PER_EXPORT_MAX,
        scheduledDelayMillis: EXPORT_EVERY_MS,
        exportTimeoutMillis: EXPORT_MS_MAX,
      }),
    ],
  });
  const tracer = provider.getTracer('service', VERSION);
  return {
    startSpan: (name, kind, traceParent, attributes) =>
      startSpan(tracer, contextOf(traceParent), name, kind, attributes),
    async close() {
      const timer = new AbortController();
      await Promise.race([
        provider.shutdown().catch(() => undefined),
        delay(CLOSE_MS_MAX, undefined, { signal: timer.signal }).catch(() => undefined),
      ]);
      timer.abort();
    },
  };
}

function startSpan(tracer: Tracer, parent: Context, name: string, kind: SpanKind, attributes: SpanAttributes): Span {
  const span = tracer.startSpan(name, { kind: KINDS[kind], attributes: { ...attributes } }, parent);
  return new OtlpSpan(tracer, span);
}

class OtlpSpan implements Span {
  readonly #tracer: Tracer;
  readonly #span: OtelSpan;
  readonly traceId: string;
  readonly spanId: string;
  readonly traceParent: string;

  constructor(tracer: Tracer, span: OtelSpan) {
    const { traceId, spanId, traceFlags } = span.spanContext();
    this.#tracer = tracer;
    this.#span = span;
    this.traceId = traceId;
    this.spanId = spanId;
    this.traceParent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  startChild(name: string, kind: SpanKind, attributes: SpanAttributes): Span {
    return startSpan(this.#tracer, trace.setSpan(ROOT_CONTEXT, this.#span), name, kind, attributes);
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  setAttributes(attributes: SpanAttributes): void {
    this.#span.setAttributes({ ...attributes });
  }

  end(fault: string | null): void {
    if (fault !== null) {
      this.#span.setAttribute('error.type', fault);
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.#span.end();
  }
}

/** Header `traceparent`, version 00 and later: https://www.w3.org/TR/trace-context/#traceparent-header */
const TRACE_PARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?$/;

function contextOf(traceParent: string | null): Context {
  const [, traceId, spanId, flags] = TRACE_PARENT.exec(traceParent ?? '') ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags, 16) & 1;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

/** Log failed exports, at most once a minute. Their spans are lost. */
function reportFailures(exporter: SpanExporter, logger: Logger): SpanExporter {
  let warnedMs = Number.NEGATIVE_INFINITY;
  return {
    // Detach the export from the request whose span happened to end last.
    export: (spans, done) =>
      runFor(undefined, () =>
        exporter.export(spans, (result) => {
          if (result.code !== 0 && performance.now() - warnedMs > WARN_EVERY_MS) {
            warnedMs = performance.now();
            logger.warn(
              { err: result.error, spans: spans.length },
              'spans could not be sent to the collector of traces',
            );
          }
          done(result);
        }),
      ),
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown(),
  };
}
