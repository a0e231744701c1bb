import type { IncomingMessage, ServerResponse } from 'node:http';
import { runWithin } from '../../platform/deadline.ts';
import { sendJson } from './replies.ts';

const WELL_KNOWN = '/.well-known/oauth-protected-resource';
const KEEP_MS = 60_000;
const ASK_TIMEOUT_MS = 5_000;

/** Sign-in of people to this tool server. The API is its authorization server (RFC 9728). */
export class SignIn {
  readonly #url: () => string;
  readonly #findIssuer: (signal: AbortSignal) => Promise<string>;
  #issuer: { readonly url: Promise<string>; readonly askedAtMs: number } | null = null;

  /**
   * @param url returns this tool server's address, the audience of tokens
   * @param findIssuer returns the API's address as authorization server
   */
  constructor(url: () => string, findIssuer: (signal: AbortSignal) => Promise<string>) {
    this.#url = url;
    this.#findIssuer = findIssuer;
  }

  /** URL of the metadata: the well-known path is inserted before the tool server's path (RFC 9728, section 3.1). */
  get metadataUrl(): string {
    const { origin, pathname } = new URL(this.#url());
    return `${origin}${WELL_KNOWN}${pathname === '/' ? '' : pathname}`;
  }

  /**
   * Answer a request for the metadata. Return false for any other request.
   *
   * @throws AppError `api_unreachable` (503), `api_refused` (404) if nobody can sign in at the API
   */
  async answers({ url = '/', method }: IncomingMessage, res: ServerResponse): Promise<boolean> {
    const [path] = url.split('?');
    const isMetadata = path === WELL_KNOWN || path === new URL(this.metadataUrl).pathname;
    if (!isMetadata || method !== 'GET') return false;
    sendJson(res, 200, {
      resource: this.#url(),
      authorization_servers: [await this.#askIssuer()],
      scopes_supported: ['search'],
      bearer_methods_supported: ['header'],
      resource_name: 'Document service',
    });
    return true;
  }

  /** Ask the API at most once a minute. Don't cache a failure. */
  #askIssuer(): Promise<string> {
    const known = this.#issuer;
    if (known !== null && performance.now() - known.askedAtMs < KEEP_MS) return known.url;
    const asked = runWithin(ASK_TIMEOUT_MS, undefined, (signal) => this.#findIssuer(signal)).catch((error: unknown) => {
      this.#issuer = null;
      throw error;
    });
    this.#issuer = { url: asked, askedAtMs: performance.now() };
    return asked;
  }
}
