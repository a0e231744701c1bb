import { Readable } from 'node:stream';
import type { z } from 'zod';
import type { Secret } from '../platform/secret.ts';
import { type HttpReply, HttpUpstream } from '../platform/upstream/transport.ts';
import { UpstreamFault } from '../platform/upstream/upstream-fault.ts';
import { VERSION } from '../platform/version.ts';
import { apiRefused, apiUnreachable, notTheApi } from './api-errors.ts';

export interface ApiCall<S extends z.ZodType> {
  readonly method: 'GET' | 'POST';
  /** Absolute path with its query. Parts from outside are already encoded. */
  readonly path: string;
  readonly reply: S;
  readonly json?: unknown;
  /** Body that is not JSON. */
  readonly body?: UploadBody;
  readonly headers?: Readonly<Record<string, string>>;
  /** True if the call is idempotent, so that it is repeated after a broken connection. */
  readonly repeatable?: boolean;
  readonly signal: AbortSignal;
  /** Credential of the caller; null for a route that needs none. */
  readonly credential: Secret | null;
  readonly timeoutMs?: number;
}

/** Body to send slice by slice. */
export interface UploadBody {
  readonly bytes: Buffer;
  readonly contentType: string;
  /** Called with the number of bytes that have been sent. */
  readonly onSent?: ((bytes: number) => void) | undefined;
}

const SLICE_BYTES = 256 * 1024;
const TIMEOUT_MS = 60_000;
const REPLY_BYTES_MAX = 16 * 1024 * 1024;

/**
 * HTTP client for the REST API at one address. It doesn't follow redirects, so that a credential goes only to the
 * address that it was configured for.
 */
export class RestClient {
  readonly origin: string;
  readonly #upstream: HttpUpstream;
  readonly #basePath: string;

  /** @param baseUrl without a trailing slash; a path before `/v1` is kept */
  constructor(baseUrl: string, options: { readonly connectionsMax: number }) {
    const { origin, pathname } = new URL(baseUrl);
    this.origin = origin;
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#upstream = new HttpUpstream(origin, options);
  }

  /**
   * Make a call and validate the response.
   * @throws AppError `api_refused` (the API's own status and message), `api_unreachable` (503), `api_not_understood`
   *   (502); the signal's reason once it is aborted
   */
  async call<S extends z.ZodType>(call: ApiCall<S>): Promise<z.output<S>> {
    const reply = await this.#send(call, call.repeatable === true);
    if (reply.status >= 300 && reply.status < 400) throw notTheApi(this.origin, 'it redirects to another address');
    if (reply.status >= 400) throw apiRefused(reply);
    const parsed = call.reply.safeParse(jsonOf(reply.body));
    if (!parsed.success)
      throw notTheApi(this.origin, `the response of ${call.path.split('?')[0]} has an unexpected format`);
    return parsed.data;
  }

  /** Abort all calls in progress and close the connections. */
  async close(): Promise<void> {
    await this.#upstream.close();
  }

  async #send(call: ApiCall<z.ZodType>, mayRepeat: boolean): Promise<HttpReply> {
    const { method, path, json, body, signal, credential, timeoutMs = TIMEOUT_MS } = call;
    try {
      return await this.#upstream.call({
        method,
        path: this.#basePath + path,
        headers: {
          accept: 'application/json',
          'user-agent': `service-mcp/${VERSION}`,
          ...(credential === null ? {} : { authorization: `Bearer ${credential.reveal()}` }),
          ...(body ? { 'content-type': body.contentType, 'content-length': String(body.bytes.length) } : {}),
          ...call.headers,
        },
        body: body ? Readable.from(slicesOf(body)) : json === undefined ? null : JSON.stringify(json),
        timeoutMs,
        bodyBytesMax: REPLY_BYTES_MAX,
        signal,
      });
    } catch (error) {
      if (!(error instanceof UpstreamFault)) throw error;
      // The server may have closed an idle connection just as the request was sent.
      if (mayRepeat && error.code === 'connection') return this.#send(call, false);
      throw apiUnreachable(this.origin, error.message, error);
    }
  }
}

function* slicesOf({ bytes, onSent }: UploadBody): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    yield bytes.subarray(at, at + SLICE_BYTES);
    onSent?.(Math.min(at + SLICE_BYTES, bytes.length));
  }
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
