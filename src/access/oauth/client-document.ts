import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { AppError } from '../../platform/errors.ts';
import { FairGate } from '../../platform/fair-gate.ts';
import { HttpUpstream } from '../../platform/upstream/transport.ts';
import { UpstreamFault } from '../../platform/upstream/upstream-fault.ts';
import { oauthError } from './oauth-error.ts';
import { ClientMetadata, checkMetadata, clientNameOf } from './registration.ts';

/** Client described by the metadata document at its id, a URL. */
export interface DocumentedClient {
  readonly id: string;
  readonly name: string;
  readonly redirectUris: readonly string[];
}

const URL_CHARS_MAX = 2_000;
const DOCUMENT_BYTES_MAX = 64 * 1024;
const TIMEOUT_MS = 5_000;
const CACHED = { entries: 500, leastMs: 5 * 60_000, mostMs: 24 * 3_600_000 };
const FETCHES = { runningMax: 8, runningOfOneMax: 2, waitingOfOneMax: 20 };

const Document = ClientMetadata.extend({ client_id: z.string(), client_secret: z.never().optional() });

/** Return true for a client id that is the URL of a metadata document. */
export function isDocumentUrl(clientId: string): boolean {
  return clientId.startsWith('https://') || clientId.startsWith('http://');
}

/**
 * Fetches client ID metadata documents (draft-ietf-oauth-client-id-metadata-document), only from hosts that the
 * operator allows. It doesn't follow redirects.
 */
export class ClientDocuments {
  readonly #hosts: ReadonlySet<string>;
  readonly #cache = new LRUCache<string, DocumentedClient>({ max: CACHED.entries });
  readonly #gate = new FairGate(FETCHES);

  /** @param hosts names with an optional port */
  constructor(hosts: readonly string[]) {
    this.#hosts = new Set(hosts);
  }

  /**
   * Return the client with this id.
   *
   * @param owner organization whose share of concurrent fetches this uses
   * @throws AppError `unauthorized_client`, `invalid_redirect_uri`, `invalid_client_metadata` (400),
   *   `temporarily_unavailable` (503), `server_busy` (503)
   */
  async find(id: string, owner: string, signal: AbortSignal): Promise<DocumentedClient> {
    const url = this.#check(id);
    const known = this.#cache.get(id);
    if (known !== undefined) return known;
    return this.#gate.run(
      owner,
      () => this.#fetch(id, url, signal),
      () => signal,
    );
  }

  #check(id: string): URL {
    const url = URL.canParse(id) ? new URL(id) : null;
    // Client ids are compared as strings, so accept only one spelling of a URL.
    const isPlain =
      url !== null && url.href === id && url.protocol === 'https:' && url.pathname !== '/' && url.hash === '';
    if (!isPlain || url.username !== '' || url.password !== '' || id.length > URL_CHARS_MAX) {
      throw oauthError('unauthorized_client', 'a client id that is a URL must begin with https:// and have a path');
    }
    if (!this.#hosts.has(url.host)) {
      throw oauthError(
        'unauthorized_client',
        `clients of ${url.host} are not allowed here; the operator can add the host to tool_server.client_hosts`,
      );
    }
    return url;
  }

  async #fetch(id: string, url: URL, signal: AbortSignal): Promise<DocumentedClient> {
    const upstream = new HttpUpstream(url.origin, { connectionsMax: 1 });
    try {
      const { status, headers, body } = await upstream.call({
        method: 'GET',
        path: url.pathname + url.search,
        headers: { accept: 'application/json' },
        body: null,
        timeoutMs: TIMEOUT_MS,
        bodyBytesMax: DOCUMENT_BYTES_MAX,
        signal,
      });
      if (status !== 200) throw unreadable(url, `it answers with status ${status}`);
      const client = readDocument(id, url, body);
      this.#cache.set(id, client, { ttl: lifetimeOf(headers['cache-control']?.toString()) });
      return client;
    } catch (error) {
      if (error instanceof UpstreamFault) throw unreadable(url, error.message);
      throw error;
    } finally {
      await upstream.close();
    }
  }
}

function readDocument(id: string, url: URL, body: Buffer): DocumentedClient {
  let parsed: z.ZodSafeParseResult<z.output<typeof Document>>;
  try {
    parsed = Document.safeParse(JSON.parse(body.toString('utf8')));
  } catch {
    throw unreadable(url, 'it is not JSON');
  }
  if (!parsed.success) {
    throw oauthError('invalid_client_metadata', `the document of the client at ${url.host} is not valid`);
  }
  if (parsed.data.client_id !== id) {
    throw oauthError('invalid_client_metadata', `the document of the client at ${url.host} names another client_id`);
  }
  checkMetadata(parsed.data);
  return { id, name: clientNameOf(parsed.data, url.host), redirectUris: parsed.data.redirect_uris };
}

function unreadable(url: URL, why: string): AppError {
  return oauthError(
    'temporarily_unavailable',
    `the document of the client at ${url.host} could not be read: ${why}; try again later`,
  );
}

/** Read the lifetime of a document from `Cache-Control`, within bounds. */
function lifetimeOf(cacheControl: string | undefined): number {
  const [, seconds] = /(?:^|[\s,])max-age=(\d{1,9})/.exec(cacheControl ?? '') ?? [];
  return Math.min(Math.max(Number(seconds ?? 0) * 1000, CACHED.leastMs), CACHED.mostMs);
}
