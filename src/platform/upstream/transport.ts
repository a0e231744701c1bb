import { createRequire } from 'node:module';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { promisify } from 'node:util';
import { brotliDecompress, createBrotliDecompress, createGunzip, createInflate, gunzip, inflate } from 'node:zlib';
import type { Dispatcher, Pool } from 'undici';
import { UpstreamFault } from './upstream-fault.ts';
import type { UpstreamHeaders } from './upstream-message.ts';

export interface HttpCall {
  readonly method: 'GET' | 'POST';
  /** Absolute path within the origin. */
  readonly path: string;
  /** Headers with lower-case names. Content type and length are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text, unless the headers name another type. A stream needs the header `content-length`. */
  readonly body: string | Readable | null;
  /** Time limit of the whole call: connecting, sending, waiting and receiving. */
  readonly timeoutMs: number;
  /** Maximum length of the response. A longer one fails the call. */
  readonly bodyBytesMax: number;
  readonly signal: AbortSignal;
}

export interface HttpReply {
  readonly status: number;
  /** Headers with lower-case names. */
  readonly headers: UpstreamHeaders;
  /** Body; for an error, at most the first 64 KiB. */
  readonly body: Buffer;
}

/** Request whose response is streamed. */
export interface StreamedCall extends Pick<HttpCall, 'method' | 'path' | 'headers' | 'signal'> {
  readonly body: string | null;
  /** Time limit until the response headers arrive. */
  readonly timeoutMs: number;
  /** Longest pause between two parts of the body. */
  readonly silenceMs: number;
}

/** Streamed response. The caller must read or destroy the body. Its errors are those of `call`. */
export interface StreamedReply {
  readonly status: number;
  readonly headers: UpstreamHeaders;
  readonly body: AsyncIterable<Buffer>;
}

const load = createRequire(import.meta.url);

/** Maximum length of an error body that is read. */
const ERROR_BODY_BYTES_MAX = 65_536;
/** Typical size of the chunks read from sockets. */
const CHUNK_BYTES_TYPICAL = 65_536;
/** Decoders of `Content-Encoding` by name. Each fails beyond `maxOutputLength`. */
const DECODERS: Readonly<Record<string, (body: Buffer, limits: { maxOutputLength: number }) => Promise<Buffer>>> = {
  gzip: promisify(gunzip),
  'x-gzip': promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
};
/** Decoders of a streamed response. */
const STREAM_DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

function withoutMark(body: Buffer): Buffer {
  const hasMark = body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  return hasMark ? body.subarray(BYTE_ORDER_MARK.length) : body;
}

/** Time to keep idle connections, unless the server specifies another. */
const KEEP_ALIVE_MS = 30_000;

/**
 * Pool of HTTP/1.1 connections to one origin, kept alive, with one request at a time on each. It doesn't follow
 * redirects, so that a credential is sent only to the host that it was configured for.
 */
export class HttpUpstream {
  readonly #pool: Pool;

  /** @param origin scheme, host and port; `connectionsMax` limits the open connections */
  constructor(origin: string, options: { readonly connectionsMax: number }) {
    const { Pool: HttpPool }: typeof import('undici') = load('undici');
    this.#pool = new HttpPool(origin, {
      connections: options.connectionsMax,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      // Our own timer covers the whole call. The client's two timers would only cost time.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  /**
   * Send a request. Resolve with the response, whatever its status.
   * @throws UpstreamFault `transient`, code `timeout`, `connection` or `body_too_large`; the reason of the signal when
   *   it aborts
   */
  call(call: HttpCall): Promise<HttpReply> {
    return new Promise((resolve, reject) => {
      const exchange = new Exchange(call, resolve, reject);
      if (exchange.isOver) return;
      try {
        const { method, path, body } = call;
        const headers = body === null ? call.headers : { 'content-type': 'application/json', ...call.headers };
        this.#pool.dispatch({ method, path, body, headers: headers as Record<string, string> }, exchange);
      } catch (error) {
        exchange.onResponseError(null, error as Error);
      }
    });
  }

  /**
   * Send a request. Resolve when the response headers have arrived, whatever the status.
   * @throws UpstreamFault `transient`, code `timeout` or `connection`; the reason of the signal when it aborts
   */
  async stream(call: StreamedCall): Promise<StreamedReply> {
    const { method, path, body, signal, timeoutMs, silenceMs } = call;
    const headers = { 'content-type': 'application/json', 'accept-encoding': 'identity', ...call.headers };
    const limits = { headersTimeout: timeoutMs, bodyTimeout: silenceMs };
    const reply = await this.#pool
      .request({ method, path, body, headers, signal, ...limits })
      .catch((error: unknown) => {
        throw streamFault(error, signal);
      });
    const decode = STREAM_DECODERS[encodingOf(reply.headers)];
    // The reader of the decoded stream sees an error of either stream.
    const parts = decode === undefined ? reply.body : pipeline(reply.body, decode(), () => {});
    return { status: reply.statusCode, headers: reply.headers, body: guarded(parts, signal) };
  }

  /** Close all connections. Pending calls fail. */
  async close(): Promise<void> {
    await this.#pool.destroy();
  }
}

function encodingOf(headers: UpstreamHeaders): string {
  return String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase();
}

/** Yield the parts of a body, and convert its errors to faults. */
async function* guarded(parts: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer, void> {
  try {
    yield* parts;
  } catch (error) {
    throw streamFault(error, signal);
  }
}

function streamFault(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const { code } = error as { code?: unknown };
  const isLate = code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT';
  if (isLate) return new UpstreamFault({ kind: 'transient', code: 'timeout', message: 'the answer stopped arriving' });
  const name = typeof code === 'string' ? code : (error as Error).name;
  return new UpstreamFault({ kind: 'transient', code: 'connection', message: `the connection failed (${name})` });
}

/** Request and its response. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #call: HttpCall;
  readonly #resolve: (reply: HttpReply) => void;
  readonly #reject: (error: unknown) => void;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort: () => void;
  #controller: Dispatcher.DispatchController | null = null;
  #status = 0;
  #headers: UpstreamHeaders = {};
  #bytesMax = 0;
  #bytes = 0;
  readonly #chunks: Buffer[] = [];
  /** Buffer for a response of known length, which avoids keeping and concatenating its chunks. */
  #body: Buffer | null = null;
  isOver = false;

  constructor(call: HttpCall, resolve: (reply: HttpReply) => void, reject: (error: unknown) => void) {
    this.#call = call;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onAbort = () => this.#fail(call.signal.reason);
    this.#timer = setTimeout(
      () => this.#fail(this.#fault('timeout', `no answer within ${Math.round(call.timeoutMs)} ms`)),
      call.timeoutMs,
    );
    if (call.signal.aborted) this.#onAbort();
    else call.signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The call may have ended while it waited for a connection.
    if (this.isOver) controller.abort(new Error('the call has ended'));
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.isOver || status < 200) return;
    this.#status = status;
    this.#headers = headers;
    this.#bytesMax = this.#isSuccess() ? this.#call.bodyBytesMax : ERROR_BODY_BYTES_MAX;
    if (!this.#isSuccess()) return;
    const contentLength = Number(headers['content-length'] ?? 0);
    if (contentLength > this.#bytesMax) this.#tooLarge();
    else if (contentLength > CHUNK_BYTES_TYPICAL) this.#body = Buffer.allocUnsafeSlow(contentLength);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.isOver) return;
    const remaining = this.#bytesMax - this.#bytes;
    if (chunk.length <= remaining) {
      if (this.#body) this.#body.set(chunk, this.#bytes);
      else this.#chunks.push(chunk);
      this.#bytes += chunk.length;
    } else if (this.#isSuccess()) {
      this.#tooLarge();
    } else {
      this.#chunks.push(chunk.subarray(0, remaining));
      this.#finish(true);
    }
  }

  onResponseEnd(): void {
    if (!this.isOver) this.#finish(false);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.isOver) return;
    const { code } = error as { code?: unknown };
    // The client's message contains hosts and ports. Its code is sufficient.
    this.#fail(this.#fault('connection', `the connection failed (${typeof code === 'string' ? code : error.name})`));
  }

  #isSuccess(): boolean {
    return this.#status < 300;
  }

  #tooLarge(): void {
    this.#fail(this.#fault('body_too_large', `the answer is longer than ${this.#bytesMax} bytes`));
  }

  /** Create a transient fault. The client sets a request's controller right before it writes the first byte. */
  #fault(code: string, message: string): UpstreamFault {
    return new UpstreamFault({ kind: 'transient', code, message, isUnsent: this.#controller === null });
  }

  #finish(cutOff: boolean): void {
    this.#end(cutOff);
    const [first] = this.#chunks;
    const body = this.#body ?? (this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks));
    const encoding = encodingOf(this.#headers);
    const decode = DECODERS[encoding];
    if (decode === undefined) {
      this.#resolve({ status: this.#status, headers: this.#headers, body: withoutMark(body) });
      return;
    }
    // We don't ask for a compressed response, but some proxies compress anyway.
    decode(body, { maxOutputLength: this.#bytesMax }).then(
      (plain) => this.#resolve({ status: this.#status, headers: this.#headers, body: withoutMark(plain) }),
      () => this.#reject(this.#fault('unreadable_encoding', `the answer cannot be decoded from ${encoding}`)),
    );
  }

  #fail(reason: unknown): void {
    if (this.isOver) return;
    this.#end(true);
    this.#reject(reason);
  }

  #end(cutOff: boolean): void {
    this.isOver = true;
    clearTimeout(this.#timer);
    this.#call.signal.removeEventListener('abort', this.#onAbort);
    if (cutOff) this.#controller?.abort(new Error('the call has ended'));
  }
}
