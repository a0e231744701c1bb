import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import type { z } from 'zod';
import { retryAfterMs } from '../../../platform/upstream/retry-after.ts';
import { type HttpReply, HttpUpstream } from '../../../platform/upstream/transport.ts';
import { UpstreamFault } from '../../../platform/upstream/upstream-fault.ts';
import { readVendorError } from '../../../platform/upstream/vendor-message.ts';
import { SourceFault } from '../source-reader.ts';

const CALL_MS = 60_000;
const SILENCE_MS = 60_000;
const JSON_BYTES_MAX = 32 * 1024 * 1024;
const CONNECTIONS_MAX = 4;
/** Maximum attempts at a rate-limited or temporarily failing call, and the longest pause between two. */
const TRIES = 6;
const PAUSE_MS_MAX = 120_000;
const MOVED = new Set([301, 302, 303, 307, 308]);

interface ApiCall {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body: string | null;
}

/** Return headers with the credentials of a call. @throws SourceFault, UpstreamFault */
export type Authorize = (signal: AbortSignal) => Promise<Readonly<Record<string, string>>>;

/**
 * API client of one online service. It waits as long as the service asks, and converts failures to faults that quote
 * the service.
 */
export class ApiClient {
  readonly #upstream: HttpUpstream;
  readonly #name: string;
  readonly #authorize: Authorize;

  /** @param options.name service name for error messages, such as `Notion` */
  constructor(options: { readonly origin: string; readonly name: string; readonly authorize: Authorize }) {
    this.#upstream = new HttpUpstream(options.origin, { connectionsMax: CONNECTIONS_MAX });
    this.#name = options.name;
    this.#authorize = options.authorize;
  }

  /** Get JSON of a documented shape. @throws SourceFault */
  get<T>(path: string, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    return this.#json({ method: 'GET', path, body: null }, schema, signal);
  }

  post<T>(path: string, body: unknown, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    return this.#json({ method: 'POST', path, body: JSON.stringify(body) }, schema, signal);
  }

  /** Post a form. `authorize` supplies its content type. */
  postForm<T>(path: string, form: URLSearchParams, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    return this.#json({ method: 'POST', path, body: form.toString() }, schema, signal);
  }

  /** Get a file that fits into memory. @throws SourceFault */
  async bytes(path: string, bytesMax: number, signal: AbortSignal): Promise<Buffer> {
    return (await this.#call({ method: 'GET', path, body: null, bodyBytesMax: bytesMax }, signal)).body;
  }

  /** Get a file as a stream, which fails in the same ways as a call. */
  open(path: string, signal: AbortSignal): Readable {
    const call = { method: 'GET', path, body: null, signal, timeoutMs: CALL_MS, silenceMs: SILENCE_MS } as const;
    const parts = async function* (this: ApiClient): AsyncGenerator<Buffer> {
      const reply = await this.#upstream.stream({ ...call, headers: await this.#authorize(signal) });
      if (reply.status !== 200) throw this.#fault({ ...reply, body: Buffer.alloc(0) });
      yield* reply.body;
    };
    return Readable.from(parts.call(this));
  }

  /** Return the redirect target of a call, without following it. @throws SourceFault */
  async locate(path: string, signal: AbortSignal): Promise<URL> {
    const reply = await this.#call({ method: 'GET', path, body: null, bodyBytesMax: JSON_BYTES_MAX }, signal);
    const { location } = reply.headers;
    if (typeof location !== 'string' || !URL.canParse(location)) throw this.#fault(reply);
    return new URL(location);
  }

  async close(): Promise<void> {
    await this.#upstream.close();
  }

  async #json<T>(call: ApiCall, schema: z.ZodType<T>, signal: AbortSignal): Promise<T> {
    const { body } = await this.#call({ ...call, bodyBytesMax: JSON_BYTES_MAX }, signal);
    const parsed = schema.safeParse(jsonOf(body));
    if (parsed.success) return parsed.data;
    const field = parsed.error.issues[0]?.path.join('.') || 'its body';
    throw new SourceFault(
      'source_unavailable',
      `the response of ${this.#name} does not have the documented format (${field})`,
    );
  }

  async #call(call: ApiCall & { readonly bodyBytesMax: number }, signal: AbortSignal): Promise<HttpReply> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#attempt(call, signal);
      if (!(outcome instanceof SourceFault) && (outcome.status < 300 || MOVED.has(outcome.status))) return outcome;
      const fault = outcome instanceof SourceFault ? outcome : this.#fault(outcome);
      const asked = outcome instanceof SourceFault ? null : retryAfterMs(outcome.headers, null);
      const pauseMs = Math.min(asked ?? 500 * 2 ** attempt, PAUSE_MS_MAX);
      if (!fault.retryable || attempt === TRIES) throw fault;
      await delay(pauseMs, undefined, { signal });
    }
  }

  async #attempt(
    call: ApiCall & { readonly bodyBytesMax: number },
    signal: AbortSignal,
  ): Promise<HttpReply | SourceFault> {
    try {
      return await this.#upstream.call({ ...call, headers: await this.#authorize(signal), timeoutMs: CALL_MS, signal });
    } catch (error) {
      if (!(error instanceof UpstreamFault)) throw error;
      const isRefused = error.kind === 'refused';
      return new SourceFault(
        isRefused ? 'source_refused' : 'source_unavailable',
        `${this.#name}: ${error.message}${isRefused ? '; check the credentials of the connection' : ''}`,
        { retryable: !isRefused, cause: error },
      );
    }
  }

  #fault({ status, body }: Pick<HttpReply, 'status' | 'body'>): SourceFault {
    const { message } = readVendorError(body, null);
    const said = `${this.#name} answers ${status}${message === null ? '' : ` (${message})`}`;
    if (status === 401 || status === 403) {
      return new SourceFault(
        'source_refused',
        `${said}; check the credentials of the connection and what they may read`,
      );
    }
    if (status === 404 || status === 410)
      return new SourceFault('source_missing', `${said}; check the config of the source`);
    if (status === 429 || status >= 500) return new SourceFault('source_unavailable', said, { retryable: true });
    return new SourceFault('source_settings', `${said}; check the config of the source`);
  }
}

/** Parse JSON. Return undefined, which no schema accepts, for anything else. */
function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
