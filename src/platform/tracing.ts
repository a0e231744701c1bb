import type { Config } from './config.ts';
import type { Logger } from './logger.ts';
import type { Span, SpanAttributes, SpanKind, Tracing } from './span.ts';
import { currentWork, runFor } from './work-context.ts';

/** Open the trace exporter. Return null without loading its libraries if no collector is configured. */
export async function openTracing({ tracing }: Pick<Config, 'tracing'>, logger: Logger): Promise<Tracing | null> {
  if (tracing === null) return null;
  const { openOtlpTracing } = await import('./otlp-tracing.ts');
  return openOtlpTracing(tracing, logger);
}

/**
 * Run a step of the current work in its own span. Without a current trace, only call the function.
 * @param attributes called only if there is a trace
 */
export function traced<T>(
  name: string,
  attributes: () => SpanAttributes,
  fn: () => Promise<T>,
  kind: SpanKind = 'internal',
): Promise<T> {
  const work = currentWork();
  if (work === undefined || work.span === null) return fn();
  const span = work.span.startChild(name, kind, attributes());
  return runFor({ ...work, span }, () => endWith(span, fn));
}

async function endWith<T>(span: Span, fn: () => Promise<T>): Promise<T> {
  try {
    const result = await fn();
    span.end(null);
    return result;
  } catch (error) {
    span.end(faultOf(error));
    throw error;
  }
}

/** Return the code of an error, else its name. Messages may quote texts. */
function faultOf(error: unknown): string {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string') {
    return error.code;
  }
  return error instanceof Error ? error.name : 'unknown';
}
