import { setImmediate } from 'node:timers/promises';
import type { Logger } from '../platform/logger.ts';
import type { VisionSettings } from '../platform/provider-settings.ts';
import { Breaker } from '../platform/upstream/breaker.ts';
import { parseJson } from '../platform/upstream/parse-json.ts';
import { RefusedFieldError, refusalOf } from '../platform/upstream/refused-fields.ts';
import { RETRY_DEFAULTS, type RetryPolicy, retryDelayMs, waitMs } from '../platform/upstream/retry.ts';
import { HttpUpstream } from '../platform/upstream/transport.ts';
import { failedFor, providerUnavailable, upstreamRejected } from '../platform/upstream/upstream-errors.ts';
import { UpstreamFault } from '../platform/upstream/upstream-fault.ts';
import type { DecodedImage } from './decode-images.ts';
import { firstFrameOf } from './first-frame.ts';
import { viewOf } from './image-header.ts';
import { Slots } from './slots.ts';
import type { Transcriber, Transcription } from './transcriber.ts';
import { type VisionProtocol, visionProtocolOf } from './vision-protocols.ts';

/** Name of the model in the operator's log and in errors. */
const NAME = 'vision';
const ANSWER_BYTES_MAX = 1024 * 1024;
const RETRIES_MAX = 2;
const WAITING_MAX = 400;

/** Open the operator's vision model, which transcribes an image (or its first frame) and briefly describes it. */
export function openVision(
  settings: VisionSettings,
  logger: Logger,
  options: { readonly retry?: Partial<RetryPolicy> } = {},
): Transcriber {
  return new Vision(settings, logger, options.retry);
}

class Vision implements Transcriber {
  readonly #settings: VisionSettings;
  readonly #protocol: VisionProtocol;
  readonly #http: HttpUpstream;
  readonly #basePath: string;
  readonly #slots: Slots;
  readonly #breaker: Breaker;
  readonly #retry: RetryPolicy;
  readonly #refusedFields = new Set<string>();
  readonly #closing = new AbortController();

  constructor(settings: VisionSettings, logger: Logger, retry: Partial<RetryPolicy> = {}) {
    const { origin, pathname } = new URL(settings.baseUrl);
    this.#settings = settings;
    this.#protocol = visionProtocolOf(settings.protocol);
    this.#http = new HttpUpstream(origin, { connectionsMax: settings.concurrencyMax });
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#slots = new Slots(settings.concurrencyMax, { waitingMax: WAITING_MAX });
    this.#retry = { ...RETRY_DEFAULTS, retriesMax: RETRIES_MAX, random: Math.random, ...retry };
    this.#breaker = new Breaker({
      onState: (state) =>
        logger[state === 'open' ? 'warn' : 'info'](
          { provider: NAME, state },
          'the circuit breaker of a provider has changed its state',
        ),
    });
  }

  async transcribe(image: DecodedImage, signal: AbortSignal): Promise<Transcription> {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    const text = await this.#slots.run(either, () => this.#send(image, either));
    return { text, confidence: null };
  }

  async close(): Promise<void> {
    this.#closing.abort(providerUnavailable(NAME, 'closing', 'the service is shutting down'));
    await this.#http.close();
  }

  async #send(image: DecodedImage, signal: AbortSignal): Promise<string> {
    // Encoding ten megabytes takes milliseconds, so yield, to keep several images from blocking the event loop.
    await setImmediate();
    const base64 = viewOf(firstFrameOf(image)).toString('base64');
    for (let retries = 0; ; ) {
      const permit = this.#breaker.enter();
      if (permit === null) throw this.#broken();
      try {
        const text = await this.#exchange(image, base64, signal);
        permit.succeeded();
        return text;
      } catch (error) {
        if (error instanceof RefusedFieldError) {
          permit.succeeded();
          this.#refusedFields.add(error.field);
          continue;
        }
        if (!(error instanceof UpstreamFault) || signal.aborted) {
          permit.abandoned();
          throw error;
        }
        // A vendor that limits our rate, or refuses our input or key, is still available.
        if (error.kind === 'transient' && error.status !== 429) permit.failed();
        else permit.succeeded();
        if (error.kind === 'rejected') throw upstreamRejected(NAME, error);
        const delayMs = error.kind === 'transient' ? retryDelayMs(this.#retry, retries++, error.retryAfterMs) : null;
        if (delayMs === null) throw failedFor(NAME, error);
        await waitMs(delayMs, signal);
      }
    }
  }

  /** Call the model once. @throws UpstreamFault, RefusedFieldError; the signal's reason once it is aborted */
  async #exchange(image: DecodedImage, base64: string, signal: AbortSignal): Promise<string> {
    const { model, apiKey, timeoutMs } = this.#settings;
    const { format } = image;
    // Copy the set for this request, because another request may add a field meanwhile.
    const refusedFields = new Set(this.#refusedFields);
    const request = this.#protocol.request({ model, apiKey, format, base64, refusedFields });
    const reply = await this.#http.call({
      method: request.method,
      path: this.#basePath + request.path,
      headers: request.headers,
      body: request.body,
      timeoutMs,
      bodyBytesMax: ANSWER_BYTES_MAX,
      signal,
    });
    if (reply.status >= 200 && reply.status <= 299) return this.#protocol.parse(parseJson(reply.body));
    throw refusalOf(this.#protocol, reply, apiKey, refusedFields);
  }

  #broken() {
    const why = 'its last calls failed, so the service pauses its calls';
    return providerUnavailable(NAME, 'breaker_open', why, { retryAfterMs: this.#breaker.waitMs() });
  }
}
