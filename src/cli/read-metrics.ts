import { AppError } from '../platform/errors.ts';

/** Maximum response size, far above this service's metrics, in case another server listens at the address. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;
const TIMEOUT_MS = 2_000;

/** Sample of a metric: one line of the text format. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Read the metrics of a running server.
 *
 * @param url address of the server, without a path
 * @throws AppError `server_unreachable` (503), `metrics_refused` (403); the signal's reason
 */
export async function readMetrics(url: string, signal: AbortSignal, timeoutMs = TIMEOUT_MS): Promise<Sample[]> {
  try {
    const response = await fetch(new URL('/metrics', url), {
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      redirect: 'error',
    });
    if (response.status === 401 || response.status === 403) {
      await response.body?.cancel();
      throw new AppError({
        code: 'metrics_refused',
        status: 403,
        message: `the server at ${url} shows its metrics only on its own machine`,
      });
    }
    if (!response.ok) {
      await response.body?.cancel();
      throw unreachable(url, `it answered ${response.status}`);
    }
    return parseMetrics(await readBody(response, url));
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof AppError) throw error;
    throw unreachable(
      url,
      (error as Error).name === 'TimeoutError'
        ? 'it did not answer in time'
        : 'the request failed; is a server running there?',
      error,
    );
  }
}

async function readBody(response: Response, url: string): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.byteLength;
    if (bytes > BODY_BYTES_MAX) throw unreachable(url, 'the response is not that of this service');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function unreachable(url: string, why: string, cause?: unknown): AppError {
  return new AppError({
    code: 'server_unreachable',
    status: 503,
    message: `cannot read the metrics of ${url}: ${why}`,
    retryable: true,
    cause,
  });
}

const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', '\\': '\\', '"': '"' };

/**
 * Parse the text format of Prometheus, version 0.0.4 (https://prometheus.io/docs/instrumenting/exposition_formats/).
 * Skip lines that are not samples.
 */
export function parseMetrics(text: string): Sample[] {
  const samples: Sample[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) continue;
    const match = LINE.exec(line.trim());
    if (!match) continue;
    const [, name = '', labelText = '', valueText = ''] = match;
    const value = valueText === '+Inf' ? Number.POSITIVE_INFINITY : Number(valueText.replace(/^-Inf$/, '-Infinity'));
    if (Number.isNaN(value)) continue;
    const labels: Record<string, string> = Object.create(null);
    for (const [, label = '', escaped = ''] of labelText.matchAll(LABEL)) {
      labels[label] = escaped.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter);
    }
    samples.push({ name, labels, value });
  }
  return samples;
}
