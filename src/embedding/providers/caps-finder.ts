import { unlessAborted } from '../../platform/unless-aborted.ts';
import type { ProviderSettings } from '../../platform/vendor-settings.ts';
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

const DISCOVERY_TIMEOUT_MS = 5_000;
const ANSWER_BYTES_MAX = 1_048_576;
/** Time after which to ask a server for its caps again if it didn't report them. */
const RETRY_MS = 60_000;

/** Finds the caps of a call: the server's, else the protocol's, within the operator's limits. */
export class CapsFinder {
  readonly #context: CapsContext;
  #caps: UpstreamCaps;
  #discovery: Promise<void> | null = null;
  #isDiscovered: boolean;
  #retryAtMs: number | null = null;

  constructor(context: CapsContext) {
    this.#context = context;
    this.#caps = this.#within(context.protocol.caps);
    this.#isDiscovered = context.protocol.discover === undefined;
  }

  /** Return the caps of calls for a model. */
  of(upstreamModel: string): UpstreamCaps {
    const { capsOf } = this.#context.protocol;
    return capsOf ? this.#within(capsOf(upstreamModel)) : this.#caps;
  }

  /** True if `find` would change nothing. */
  get isKnown(): boolean {
    return this.#isDiscovered || (this.#retryAtMs !== null && this.#context.now() < this.#retryAtMs);
  }

  /**
   * Ask the server for its caps. Callers wait only for the first attempt. If it fails, retry in the background and use
   * the protocol's caps meanwhile.
   *
   * @throws the signal's reason once it is aborted
   */
  async find(signal: AbortSignal): Promise<void> {
    this.#discovery ??= this.#discover().finally(() => {
      this.#discovery = null;
    });
    if (this.#retryAtMs !== null) return;
    await unlessAborted(this.#discovery, signal);
  }

  async #discover(): Promise<void> {
    const { protocol, endpoints, now } = this.#context;
    const { discover } = protocol;
    const endpoint = endpoints.choose()?.endpoint;
    try {
      if (!discover || !endpoint) return;
      const signal = new AbortController().signal;
      const { method, path, headers, body } = discover.request(await endpoint.credential.key(signal));
      const reply = await endpoint.http.call({
        method,
        path: endpoint.basePath + path,
        headers,
        body,
        timeoutMs: DISCOVERY_TIMEOUT_MS,
        bodyBytesMax: ANSWER_BYTES_MAX,
        // Use no caller's signal, because other callers may also be waiting for the answer.
        signal,
      });
      if (reply.status !== 200) return;
      this.#caps = this.#within(discover.parse(reply));
      this.#isDiscovered = true;
    } catch {
      // Ignore the error, since the next embedding call reports the server's fault better.
    } finally {
      this.#retryAtMs = now() + RETRY_MS;
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
