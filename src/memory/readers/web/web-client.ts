import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Agent, Dispatcher } from 'undici';
import { openAddressGuard } from '../../../platform/outbound/address-guard.ts';
import { openGuardedAgent } from '../../../platform/outbound/guarded-agent.ts';
import { ANY_SITE, type WebSettings } from '../../../platform/web-source-settings.ts';
import { Pacer } from './pacer.ts';
import { RequestFailure, toRequestFailure } from './request-failure.ts';

/** Time limits from a request's turn to its last byte: for a page, and for any other file. */
const PAGE_MS = 30_000;
const FILE_MS = 600_000;
const CONNECT_MS = 10_000;
/** Maximum number of connections per origin. More concurrent requests would only wait. */
export const CONNECTIONS_MAX = 16;
/** Maximum attempts at a page while its host responds with 429 or 503. */
const TRIES_MAX = 3;
/** Maximum pause that a host may ask for (RFC 9110, section 10.2.3), and the default pause. */
const PAUSE_MS_MAX = 60_000;
const PAUSE_MS = 2_000;
/** Maximum bytes of a body to read, so that its connection can be reused. */
const DISCARDED_BYTES_MAX = 64 * 1024;

const DECODERS: Readonly<Record<string, () => NodeJS.ReadWriteStream & Readable>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/** Response to a request. The receiver ends it with `discard`, or by reading its body to the end or an error. */
export interface WebReply {
  readonly url: URL;
  readonly status: number;
  /** Return the value of a header, or null. Repeated headers are joined with commas. */
  header(name: string): string | null;
  /** Read the decoded body. @throws RequestFailure, also beyond `bytesMax` decoded bytes */
  body(bytesMax: number): AsyncGenerator<Buffer>;
  /** Extend the time limit to that of files. */
  allowFile(): void;
  discard(): Promise<void>;
}

/** Client of websites: paced per host, with the secrets of the connection, and without following redirects. */
export class WebClient {
  readonly #agent: Agent;
  readonly #settings: WebSettings;
  readonly #pageMs: number;
  readonly #pacers = new Map<string, Pacer>();
  /** Origins that receive the headers of the connection. */
  readonly #trusted: ReadonlySet<string>;

  /** @param pageMs time limit per page */
  constructor(settings: WebSettings, pageMs = PAGE_MS) {
    this.#settings = settings;
    this.#pageMs = pageMs;
    this.#agent = openGuardedAgent({
      guard: openAddressGuard(settings.networks),
      connectionsMax: CONNECTIONS_MAX,
      connectMs: CONNECT_MS,
    });
    const sites = settings.sites.filter((site) => site !== ANY_SITE);
    this.#trusted = new Set(sites.map((site) => new URL(site).origin));
  }

  pacerOf({ host }: URL): Pacer {
    const pacer = this.#pacers.get(host) ?? new Pacer(1_000 / this.#settings.requestsPerSecond);
    this.#pacers.set(host, pacer);
    return pacer;
  }

  /**
   * Request an address. Retry if the host asks to wait.
   * @throws RequestFailure, the reason of the signal
   */
  async get(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WebReply> {
    for (let tries = 1; ; tries++) {
      await this.pacerOf(url).turn(signal);
      const reply = await this.#getOnce(url, headers, signal);
      const isBusy = reply.status === 429 || reply.status === 503;
      if (!isBusy || tries === TRIES_MAX) return reply;
      await reply.discard();
      this.pacerOf(url).pause(pauseOf(reply.header('retry-after')) ?? PAUSE_MS * tries);
    }
  }

  async #getOnce(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WebReply> {
    const limit = new TimeLimit(signal, this.#pageMs);
    try {
      const reply = await this.#agent.request({
        origin: url.origin,
        path: `${url.pathname}${url.search}`,
        method: 'GET',
        headers: { ...this.#headersFor(url), ...headers },
        signal: limit.signal,
        headersTimeout: 0,
        bodyTimeout: 0,
      });
      return toReply(url, reply, limit);
    } catch (error) {
      limit.end();
      throw limit.failureOf(error);
    }
  }

  #headersFor({ origin }: URL): Record<string, string> {
    const { headers, userAgent } = this.#settings;
    const secrets = this.#trusted.has(origin) ? Object.entries(headers) : [];
    return {
      'user-agent': userAgent,
      accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
      'accept-encoding': 'gzip, deflate, br',
      ...Object.fromEntries(secrets.map(([name, value]) => [name.toLowerCase(), value.reveal()])),
    };
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

/** Time limit of a request, up to the end of its body. */
class TimeLimit {
  readonly #abort = new AbortController();
  readonly #outer: AbortSignal;
  readonly #stop = () => this.#abort.abort(this.#outer.reason);
  #timer: NodeJS.Timeout;
  #ms: number;

  constructor(outer: AbortSignal, ms: number) {
    this.#outer = outer;
    this.#ms = ms;
    if (outer.aborted) this.#stop();
    outer.addEventListener('abort', this.#stop, { once: true });
    this.#timer = this.#start();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Return the error to throw for a failed request: the outer signal's reason, or a `RequestFailure`. */
  failureOf(error: unknown): unknown {
    if (this.#outer.aborted) return this.#outer.reason;
    return toRequestFailure(this.signal.aborted ? this.signal.reason : error, this.#ms);
  }

  extend(ms: number): void {
    clearTimeout(this.#timer);
    this.#ms = ms;
    this.#timer = this.#start();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#outer.removeEventListener('abort', this.#stop);
  }

  #start(): NodeJS.Timeout {
    return setTimeout(() => this.#abort.abort(new DOMException('too slow', 'TimeoutError')), this.#ms);
  }
}

function toReply(url: URL, { statusCode, headers, body }: Dispatcher.ResponseData, limit: TimeLimit): WebReply {
  // An unhandled error of an unread body would crash the process.
  body.on('error', () => undefined);
  const header = (name: string) => {
    const value = headers[name];
    return value === undefined ? null : String(value);
  };
  return {
    url,
    status: statusCode,
    header,
    async *body(bytesMax) {
      try {
        const announced = header('content-encoding') === null ? Number(header('content-length')) : 0;
        if (announced > bytesMax) throw tooLarge(bytesMax);
        yield* boundedBody(decodedBody(body, header('content-encoding')), bytesMax);
      } catch (error) {
        throw limit.failureOf(error);
      } finally {
        body.destroy();
        limit.end();
      }
    },
    allowFile: () => limit.extend(FILE_MS),
    async discard() {
      await body.dump({ limit: DISCARDED_BYTES_MAX }).catch(() => undefined);
      limit.end();
    },
  };
}

function decodedBody(body: Readable, encoding: string | null): AsyncIterable<Buffer> {
  const name = (encoding ?? 'identity').trim().toLowerCase();
  if (name === 'identity' || name === '') return body;
  const decoder = DECODERS[name];
  if (decoder === undefined) throw new RequestFailure(`it has the content encoding "${name}", which is not supported`);
  // Errors of either stream reach the reader through the decoded one.
  return pipeline(body, decoder(), () => undefined) as AsyncIterable<Buffer>;
}

async function* boundedBody(body: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw tooLarge(bytesMax);
    yield chunk;
  }
}

function tooLarge(bytesMax: number): RequestFailure {
  return new RequestFailure(`it has more than the maximum of ${bytesMax} bytes`);
}

/** Parse a `Retry-After` header, seconds or a date, into bounded milliseconds. */
function pauseOf(header: string | null): number | null {
  if (header === null) return null;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), PAUSE_MS_MAX);
}
