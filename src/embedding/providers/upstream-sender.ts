import type { Model } from '../../models/catalog.ts';
import { yieldToEventLoop } from '../../platform/event-loop.ts';
import type { Threads } from '../../platform/threads.ts';
import { traced } from '../../platform/tracing.ts';
import type { Breaker, Permit } from '../../platform/upstream/breaker.ts';
import { type RetryPolicy, retryDelayMs, waitMs } from '../../platform/upstream/retry.ts';
import type { HttpReply, HttpUpstream } from '../../platform/upstream/transport.ts';
import { causeOf, failedFor, providerUnavailable, upstreamRejected } from '../../platform/upstream/upstream-errors.ts';
import { UpstreamFault } from '../../platform/upstream/upstream-fault.ts';
import type { EndpointSettings, Endpoints } from './endpoints.ts';
import { prepareRequest, type RequestTarget } from './prepare-request.ts';
import { parseOn } from './protocols/parse-reply.ts';
import type { ParsedVectors, Protocol } from './protocols/protocol.ts';
import type { ProtocolName, ProviderCall } from './provider.ts';

export interface Endpoint extends EndpointSettings, RequestTarget {
  readonly http: HttpUpstream;
}

export interface SenderContext {
  readonly name: string;
  readonly protocolName: ProtocolName;
  readonly protocol: Protocol;
  readonly apiVersion: string | null;
  readonly endpoints: Endpoints<Endpoint>;
  readonly breaker: Breaker;
  readonly retry: RetryPolicy;
  /** Time limit of one attempt. */
  readonly timeoutMs: number;
  readonly threads: Threads;
  upstreamModelOf(model: Model): string;
  /** Called after every attempt. */
  onAttempt(outcome: string, seconds: number): void;
}

/** Maximum bytes per value: a decimal number on its own indented line. Base64 needs a ninth of that. */
const BYTES_PER_VALUE_MAX = 48;
/** Size above which an answer is parsed after an event-loop yield, since parsing takes at least a millisecond. */
const INLINE_PARSE_BYTES_MAX = 200_000;
const BYTES_PER_VECTOR_MAX = 1_024;
const BYTES_PER_REPLY_MAX = 65_536;

/** Sends batches upstream, trying endpoints in turn until a call succeeds or no retry can help. */
export class UpstreamSender {
  readonly #context: SenderContext;

  constructor(context: SenderContext) {
    this.#context = context;
  }

  /**
   * Send one batch within the caps, with its retries.
   *
   * @throws AppError `provider_unavailable`, `upstream_rejected`; the signal's reason once it is aborted
   */
  async send(batch: ProviderCall): Promise<ParsedVectors> {
    const { name, endpoints, breaker, retry } = this.#context;
    const { signal } = batch;
    let tried: Set<Endpoint> | null = null;
    let lastFault: UpstreamFault | null = null;
    for (let retries = 0; ; ) {
      const choice = endpoints.choose(tried);
      if (!choice) throw this.#refused(lastFault);
      if (choice.waitMs > 0) await this.#waitForVendor(choice.waitMs, signal, lastFault);
      const permit = breaker.enter();
      if (!permit) throw lastFault ? failedFor(name, lastFault) : this.#broken();
      let fault: UpstreamFault;
      try {
        return await this.#traced(batch, retries, () => this.#attempt(choice.endpoint, batch, permit));
      } catch (error) {
        if (!(error instanceof UpstreamFault) || signal.aborted) throw error;
        fault = error;
      }
      if (fault.kind === 'rejected') throw upstreamRejected(name, fault);
      if (fault.kind === 'unavailable') throw failedFor(name, fault);
      lastFault = fault;
      tried ??= new Set();
      tried.add(choice.endpoint);
      // Trying another key doesn't count as a retry: the refused endpoint cools down and isn't chosen again.
      if (fault.kind === 'refused') continue;
      const delayMs = retryDelayMs(retry, retries++, endpoints.hasFresh(tried) ? null : fault.retryAfterMs);
      if (delayMs === null) throw failedFor(name, fault);
      if (!endpoints.hasFresh(tried)) await waitMs(delayMs, signal);
    }
  }

  #traced<T>({ model, texts }: ProviderCall, retries: number, attempt: () => Promise<T>): Promise<T> {
    const { name, protocolName } = this.#context;
    const attributes = () => ({
      'service.provider': name,
      'service.protocol': protocolName,
      'service.model': model.id,
      'service.texts': texts.length,
      'http.request.resend_count': retries,
    });
    return traced('call provider', attributes, attempt, 'client');
  }

  /** Call one endpoint once, and report the outcome to the breaker and the endpoints. */
  async #attempt(endpoint: Endpoint, batch: ProviderCall, permit: Permit): Promise<ParsedVectors> {
    const { endpoints } = this.#context;
    const startedMs = performance.now();
    let outcome = 'abandoned';
    try {
      const parsed = await this.#exchange(endpoint, batch);
      outcome = 'ok';
      permit.succeeded();
      endpoints.succeeded(endpoint);
      return parsed;
    } catch (error) {
      if (!(error instanceof UpstreamFault) || batch.signal.aborted) {
        permit.abandoned();
        throw error;
      }
      outcome = error.kind === 'rejected' ? 'rejected' : causeOf(error);
      if (error.kind === 'refused') endpoint.credential.forget?.();
      if (error.kind === 'transient') endpoints.failed(endpoint, error.retryAfterMs);
      else if (error.kind === 'refused') endpoints.refused(endpoint);
      else endpoints.succeeded(endpoint);
      // A vendor that limits our rate, or refuses our input or key, is still available.
      if (error.kind === 'transient' && error.status !== 429) permit.failed();
      else permit.succeeded();
      throw error;
    } finally {
      this.#context.onAttempt(outcome, (performance.now() - startedMs) / 1000);
    }
  }

  async #exchange(endpoint: Endpoint, batch: ProviderCall): Promise<ParsedVectors> {
    const { protocol, protocolName, apiVersion, threads, timeoutMs } = this.#context;
    const { model, texts, signal } = batch;
    const dimensions = model.nativeDimension;
    const { request, apiKey } = await prepareRequest(protocol, endpoint, signal, {
      upstreamModel: this.#context.upstreamModelOf(model),
      texts,
      taskType: model.takesTaskType ? batch.taskType : null,
      dimensions: model.upstreamDimensions,
      apiVersion,
    });
    const vectorBytesMax = BYTES_PER_VECTOR_MAX + dimensions * BYTES_PER_VALUE_MAX;
    const reply: HttpReply = await endpoint.http.call({
      ...request,
      timeoutMs,
      bodyBytesMax: BYTES_PER_REPLY_MAX + texts.length * vectorBytesMax,
      signal,
    });
    const { status, headers, body } = reply;
    if (status < 200 || status > 299) throw protocol.faultOf(status, headers, body, apiKey);
    if (body.byteLength > INLINE_PARSE_BYTES_MAX) await yieldToEventLoop();
    return parseOn(threads, { protocol: protocolName, headers, body, count: texts.length, dimensions }, signal);
  }

  /** Wait for as long as the vendor asked us to. */
  async #waitForVendor(ms: number, signal: AbortSignal, lastFault: UpstreamFault | null): Promise<void> {
    const { name, retry } = this.#context;
    if (ms <= retry.serverDelayMaxMs) return waitMs(ms + retry.random() * retry.baseMs, signal);
    if (lastFault) throw failedFor(name, lastFault);
    throw providerUnavailable(name, 'retry_after', 'it asked for a pause between calls', { retryAfterMs: ms });
  }

  #refused(lastFault: UpstreamFault | null) {
    const { name, endpoints } = this.#context;
    if (lastFault) return failedFor(name, lastFault);
    const retryAfterMs = endpoints.refusedForMs();
    return providerUnavailable(name, 'refused', 'it refused every configured key', { retryAfterMs });
  }

  #broken() {
    const { name, breaker } = this.#context;
    const why = 'its last calls failed, so the service pauses its calls';
    return providerUnavailable(name, 'breaker_open', why, { retryAfterMs: breaker.waitMs() });
  }
}
