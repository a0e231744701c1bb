import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '../../src/platform/errors.ts';
import type { Logger } from '../../src/platform/logger.ts';
import { createHttpServer, type Listening } from '../http-server.ts';
import { SECURITY_HEADERS } from '../security-headers.ts';

const CHALLENGE = '/.well-known/acme-challenge/';
const GRACE_MS = 1_000;
const RETRY_MS = 1_000;

/** Answers to an authority's challenges (RFC 8555, section 8.3), by token. */
export type ChallengeAnswers = Map<string, string>;

/** Server of plain HTTP that answers challenges and redirects everything else to https. */
export class RedirectServer {
  readonly #address: { readonly host: string; readonly port: number };
  readonly #origin: () => string | null;
  readonly #answers: ReadonlyMap<string, string>;
  readonly #logger: Logger;
  readonly #stop = new AbortController();
  #listening: Listening | null = null;
  #opening: Promise<void> = Promise.resolve();

  /** @param settings.origin returns the address to redirect to; null until the server listens */
  constructor(settings: {
    readonly host: string;
    readonly port: number;
    readonly origin: () => string | null;
    readonly answers: ReadonlyMap<string, string>;
    readonly logger: Logger;
  }) {
    this.#address = settings;
    this.#origin = settings.origin;
    this.#answers = settings.answers;
    this.#logger = settings.logger;
  }

  /** Port that the server listens at. */
  get port(): number | null {
    return this.#listening?.port ?? null;
  }

  /**
   * Listen.
   * @param options.isTakeover true if the server of an earlier release may still hold the port; then wait for the port
   *   in the background
   * @throws AppError `cannot_listen`
   */
  async open({ isTakeover }: { readonly isTakeover: boolean }): Promise<void> {
    try {
      await this.#listen();
    } catch (error) {
      if (!isTakeover || !(error instanceof AppError)) throw error;
      this.#logger.warn({ port: this.#address.port }, 'the port for http is taken; trying again until it is free');
      this.#opening = this.#waitForPort();
    }
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#opening;
    await this.#listening?.close({ graceMs: GRACE_MS });
  }

  async #waitForPort(): Promise<void> {
    while (this.#listening === null && !this.#stop.signal.aborted) {
      await delay(RETRY_MS, undefined, { signal: this.#stop.signal }).catch(() => undefined);
      if (!this.#stop.signal.aborted) await this.#listen().catch(() => undefined);
    }
  }

  async #listen(): Promise<void> {
    const server = createHttpServer((req, res) => this.#answer(req, res), { logger: this.#logger });
    this.#listening = await server.listen(this.#address);
  }

  #answer(req: IncomingMessage, res: ServerResponse): void {
    const url = req.url ?? '';
    const answer = url.startsWith(CHALLENGE) ? this.#answers.get(url.slice(CHALLENGE.length)) : undefined;
    const origin = this.#origin();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) res.setHeader(name, value);
    if (answer !== undefined) return void res.writeHead(200, { 'Content-Type': 'text/plain' }).end(answer);
    // Accept only a path: a client may send another server's address as the target.
    if (origin === null || !url.startsWith('/')) return void res.writeHead(404).end();
    // 308 keeps the method, so that API clients don't turn a POST into a GET.
    res.writeHead(308, { Location: `${origin}${url}`, Connection: 'close' }).end();
  }
}
