import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../../platform/config.ts';
import { AppError, unusable } from '../../platform/errors.ts';

const REDIRECTS_MAX = 5;
const RETRIES_MAX = 4;
const FIRST_PAUSE_MS = 500;
const HEADERS_MS_MAX = 30_000;
const JSON_BYTES_MAX = 16 * 1024 * 1024;

/** Connection failure to the hub. A retry may succeed. */
export class HubInterruption extends Error {
  override readonly name = 'HubInterruption';
}

/** Client for the HTTP API of Hugging Face's hub and its mirrors. The token is sent only to the hub itself. */
export class HubClient {
  readonly #url: string;
  readonly #token: Config['localModels']['hubToken'];
  /** Name of the model at the hub, for messages. */
  readonly #id: string;

  constructor(settings: Config['localModels'], id: string) {
    this.#url = settings.hubUrl;
    this.#token = settings.hubToken;
    this.#id = id;
  }

  /**
   * Get a JSON document from the API.
   *
   * @throws AppError `hub_refused` (403), `hub_model_not_found` (404), `hub_unavailable` (503)
   */
  async json(path: string, signal: AbortSignal): Promise<unknown> {
    return this.retrying(async () => {
      const response = await this.open(path, {}, signal);
      const parts: Uint8Array[] = [];
      let bytes = 0;
      for await (const part of this.bytesOf(response)) {
        bytes += part.length;
        if (bytes > JSON_BYTES_MAX) throw this.#invalid('it is too long');
        parts.push(part);
      }
      try {
        return JSON.parse(Buffer.concat(parts).toString('utf8')) as unknown;
      } catch {
        throw this.#invalid('it is not JSON');
      }
    }, signal);
  }

  /** Repeat work after interruptions, with pauses. Return any result and throw any other error immediately. */
  async retrying<T>(work: () => Promise<T>, signal: AbortSignal, hasProgress: () => boolean = () => false): Promise<T> {
    for (let retries = 0; ; retries++) {
      try {
        return await work();
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof HubInterruption)) throw error;
        if (hasProgress()) retries = 0;
        if (retries >= RETRIES_MAX) throw this.#unavailable(error);
        await delay(FIRST_PAUSE_MS * 2 ** retries * (0.5 + Math.random() / 2), undefined, { signal });
      }
    }
  }

  /**
   * Send a request and follow its redirects.
   *
   * @returns a response with status 200 or 206 and an unread body
   * @throws HubInterruption, AppError as `json` does
   */
  async open(path: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    let url = new URL(this.#url + path);
    const hub = url;
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
      const response = await this.#send(url, hub, headers, signal);
      if (response.status < 300 || response.status > 399) return this.#checked(response);
      await response.body?.cancel();
      const target = URL.parse(response.headers.get('location') ?? '', url.href);
      if (target === null || (target.protocol !== 'https:' && target.protocol !== hub.protocol)) {
        throw this.#invalid('it redirects to an address that is not secure');
      }
      url = target;
    }
    throw this.#invalid('it redirects too many times');
  }

  /** Read a response body. @throws HubInterruption if the connection breaks or stalls */
  async *bytesOf(response: Response): AsyncGenerator<Uint8Array> {
    if (response.body === null) return;
    const reader = response.body.getReader();
    try {
      for (;;) {
        const stall = Promise.withResolvers<never>();
        const timer = setTimeout(() => stall.reject(new HubInterruption('no bytes arrive')), HEADERS_MS_MAX);
        const { done, value } = await Promise.race([reader.read(), stall.promise]).finally(() => clearTimeout(timer));
        if (done) return;
        yield value;
      }
    } catch (error) {
      if (error instanceof HubInterruption) throw error;
      throw new HubInterruption(messageOf(error), { cause: error });
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  async #send(url: URL, hub: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Response> {
    const ownHeaders: Record<string, string> = { ...headers, 'accept-encoding': 'identity' };
    if (this.#token && url.origin === hub.origin) ownHeaders['authorization'] = `Bearer ${this.#token.reveal()}`;
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), HEADERS_MS_MAX);
    try {
      return await fetch(url, {
        headers: ownHeaders,
        redirect: 'manual',
        signal: AbortSignal.any([signal, late.signal]),
      });
    } catch (error) {
      signal.throwIfAborted();
      throw new HubInterruption(messageOf(error), { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  async #checked(response: Response): Promise<Response> {
    const { status } = response;
    if (status === 200 || status === 206) return response;
    await response.body?.cancel();
    if (status === 401 || status === 403) {
      throw new AppError({
        code: 'hub_refused',
        status: 403,
        message: `the hub refuses access to ${this.#id} (${status}): set HF_TOKEN to a token of an account that may read it, and accept its licence there`,
      });
    }
    if (status === 404) {
      throw new AppError({
        code: 'hub_model_not_found',
        status: 404,
        message: `the hub ${this.#url} has no such model or revision: ${this.#id}`,
      });
    }
    if (status === 408 || status === 429 || status >= 500) throw new HubInterruption(`the hub answered ${status}`);
    throw this.#invalid(`its status is ${status}`);
  }

  #invalid(why: string): AppError {
    return new AppError({
      code: 'hub_answer_invalid',
      status: 502,
      message: `the answer of the hub ${this.#url} cannot be used: ${why}; check local_models.hub_url (HF_ENDPOINT)`,
    });
  }

  #unavailable(cause: Error): AppError {
    return unusable(
      `the hub ${this.#url} cannot be reached, or interrupted the download (${cause.message}); run the command again to continue the download`,
      'hub_unavailable',
      { cause },
    );
  }
}

function messageOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error ? cause.message : String(cause);
}
