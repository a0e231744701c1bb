import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { retryAfterMs } from '../../../platform/upstream/retry-after.ts';
import type { WebdavSettings } from '../../../platform/webdav-settings.ts';
import { SourceFault } from '../source-reader.ts';
import { replyFault, toDavFault } from './dav-faults.ts';
import type { DavReply } from './dav-reply.ts';

/** Maximum connections: more than the large files in progress, whose responses wait until they are stored. */
const CONNECTIONS_MAX = 16;
const CONNECT_MS_MAX = 30_000;
/** Maximum wait for response headers, and between two parts of a body. */
const SILENCE_MS_MAX = 120_000;
const REDIRECTS_MAX = 5;
const ATTEMPTS_MAX = 3;
/** Maximum wait that a server may ask for. If it asks for more, the synchronisation ends and is retried later. */
const WAIT_MS_MAX = 60_000;

const PROPERTIES = `<?xml version="1.0" encoding="utf-8"?>
<D:propfind xmlns:D="DAV:"><D:prop><D:resourcetype/><D:getetag/><D:getcontentlength/><D:getlastmodified/></D:prop></D:propfind>`;

type Method = 'GET' | 'PROPFIND';

/** WebDAV client (RFC 4918). It sends credentials only to the origin of the connection. */
export class DavClient {
  readonly #pool: Pool;
  readonly #origin: string;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param ca certificates to trust as PEM text; null for the public ones */
  constructor({ url, login }: WebdavSettings, ca: string | null) {
    this.#origin = new URL(url).origin;
    this.#headers = { authorization: authorizationOf(login), 'accept-encoding': 'identity' };
    this.#pool = new Pool(this.#origin, {
      connections: CONNECTIONS_MAX,
      allowH2: false,
      headersTimeout: SILENCE_MS_MAX,
      bodyTimeout: SILENCE_MS_MAX,
      connect: { timeout: CONNECT_MS_MAX, ...(ca === null ? {} : { ca }) },
    });
  }

  /**
   * Send a request. Follow redirects within the origin, and wait as long as a busy server asks.
   *
   * @param path absolute path, percent-encoded
   * @returns the response, whatever its other status
   * @throws SourceFault if the server is unreachable or redirects to another origin
   */
  async send(method: Method, path: string, signal: AbortSignal): Promise<DavReply> {
    for (let attempt = 1; ; attempt++) {
      const reply = await this.#follow(method, path, signal);
      const isBusy = reply.status === 429 || reply.status === 503;
      const waitMs = isBusy ? retryAfterMs(reply.headers, null) : null;
      if (waitMs === null) return reply;
      if (attempt === ATTEMPTS_MAX || waitMs > WAIT_MS_MAX) throw await replyFault(reply, this.placeOf(path));
      await reply.body.dump();
      await delay(waitMs, undefined, { signal });
    }
  }

  /** Return an address to show in messages. */
  placeOf(path: string): string {
    return this.#origin + path;
  }

  async close(): Promise<void> {
    await this.#pool.destroy();
  }

  async #follow(method: Method, path: string, signal: AbortSignal): Promise<DavReply> {
    let current = path;
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
      const reply = await this.#request(method, current, signal);
      const location = reply.status >= 300 && reply.status < 400 ? reply.headers['location'] : undefined;
      if (typeof location !== 'string') return reply;
      await reply.body.dump();
      const target = URL.parse(location, this.#origin + current);
      if (target?.origin !== this.#origin) {
        const where = target?.origin ?? 'an address that cannot be read';
        const message = `${this.placeOf(path)} redirects to ${where}; the credentials are not sent there. Check url`;
        throw new SourceFault('source_settings', message);
      }
      current = target.pathname + target.search;
    }
    throw new SourceFault('source_unavailable', `${this.placeOf(path)} redirects without end; check url`);
  }

  async #request(method: Method, path: string, signal: AbortSignal): Promise<DavReply> {
    const isListing = method === 'PROPFIND';
    const headers = isListing
      ? { ...this.#headers, depth: '1', 'content-type': 'application/xml; charset=utf-8' }
      : this.#headers;
    try {
      const body = isListing ? PROPERTIES : null;
      const reply = await this.#pool.request({ method, path, headers, body, signal });
      return { status: reply.statusCode, headers: reply.headers, body: reply.body, path };
    } catch (error) {
      signal.throwIfAborted();
      throw toDavFault(error, this.placeOf(path));
    }
  }
}

/** Build the `Authorization` value: Basic in UTF-8 (RFC 7617), or Bearer (RFC 6750). */
function authorizationOf(login: WebdavSettings['login']): string {
  if ('token' in login) return `Bearer ${login.token.reveal()}`;
  return `Basic ${Buffer.from(`${login.user}:${login.password?.reveal() ?? ''}`).toString('base64')}`;
}
