import type { ProviderSettings } from '../../platform/provider-settings.ts';
import type { Endpoints } from './endpoints.ts';
import type { Protocol, UpstreamCaps } from './protocols/protocol.ts';
import type { Endpoint } from './upstream-sender.ts';

export interface CapsContext {
  readonly protocol: Protocol;
  readonly endpoints: Endpoints<Endpoint>;
  readonly settings: Pick<ProviderSettings, 'itemsMax' | 'tokensMax'>;
  /** Monotonic, in milliseconds. */
  readonly now: () => number;
}

const ASK_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 1_048_576;
/** A server that could not tell is asked again after this time. */
const ASK_AGAIN_MS = 60_000;

/** How much goes into one call: what the server says, else what its protocol says, and never more than the operator. */
export class CapsFinder {
  readonly #context: CapsContext;
  #caps: UpstreamCaps;
  #asking: Promise<void> | null = null;
  #isTold: boolean;
  #askAgainAtMs: number | null = null;

  constructor(context: CapsContext) {
    this.#context = context;
    this.#caps = this.#within(context.protocol.caps);
    this.#isTold = context.protocol.discover === undefined;
  }

  get current(): UpstreamCaps {
    return this.#caps;
  }

  /** Whether `find` would make no difference now. */
  get isKnown(): boolean {
    return this.#isTold || (this.#askAgainAtMs !== null && this.#context.now() < this.#askAgainAtMs);
  }

  /**
   * Ask the server. The first callers wait for what it says; should it not tell, nobody ever waits for that again, and
   * the protocol's caps stand meanwhile.
   *
   * @throws the signal's reason once it is aborted
   */
  async find(signal: AbortSignal): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = null;
    });
    if (this.#askAgainAtMs !== null) return;
    const asking = this.#asking;
    let stop = () => {};
    const aborted = new Promise<never>((_resolve, reject) => {
      stop = () => reject(signal.reason);
      if (signal.aborted) stop();
      else signal.addEventListener('abort', stop, { once: true });
    });
    try {
      await Promise.race([asking, aborted]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  async #ask(): Promise<void> {
    const { protocol, endpoints, now } = this.#context;
    const { discover } = protocol;
    const endpoint = endpoints.choose()?.endpoint;
    try {
      if (!discover || !endpoint) return;
      const { method, path, headers, body } = discover.request(endpoint.apiKey);
      const reply = await endpoint.http.call({
        method,
        path: endpoint.basePath + path,
        headers,
        body,
        timeoutMs: ASK_TIMEOUT_MS,
        bodyBytesMax: ANSWER_BYTES_MAX,
        // Nobody's own: others may wait for the answer too.
        signal: new AbortController().signal,
      });
      if (reply.status !== 200) return;
      this.#caps = this.#within(discover.parse(reply));
      this.#isTold = true;
    } catch {
      // The call itself, which comes next, says better what is wrong with this server.
    } finally {
      this.#askAgainAtMs = now() + ASK_AGAIN_MS;
    }
  }

  #within({ itemsMax, tokensMax }: UpstreamCaps): UpstreamCaps {
    const own = this.#context.settings;
    return {
      itemsMax: Math.min(itemsMax, own.itemsMax ?? itemsMax),
      tokensMax: own.tokensMax === null ? tokensMax : Math.min(own.tokensMax, tokensMax ?? own.tokensMax),
    };
  }
}
