import { yieldToEventLoop } from '../../platform/event-loop.ts';
import type { Secret } from '../../platform/secret.ts';
import type { Threads } from '../../platform/threads.ts';
import type { Breaker, Permit } from '../../platform/upstream/breaker.ts';
import { type RetryPolicy, retryDelayMs, waitMs } from '../../platform/upstream/retry.ts';
import type { HttpReply, HttpUpstream } from '../../platform/upstream/transport.ts';
import { causeOf, failedFor, providerUnavailable, upstreamRejected } from '../../platform/upstream/upstream-errors.ts';
import { UpstreamFault } from '../../platform/upstream/upstream-fault.ts';
import type { EndpointSettings, Endpoints } from './endpoints.ts';
import { parseOn } from './protocols/parse-reply.ts';
import type { ParsedVectors, Protocol } from './protocols/protocol.ts';
import type { ProtocolName, ProviderCall } from './provider.ts';

export interface Endpoint extends EndpointSettings {
  readonly http: HttpUpstream;
  /** Path of the base URL, without a slash at its end. */
  readonly basePath: string;
  readonly apiKey: Secret | null;
}

export interface SenderContext {
  /** Of the provider. */
  readonly name: string;
  readonly protocolName: ProtocolName;
  readonly protocol: Protocol;
  readonly endpoints: Endpoints<Endpoint>;
  readonly breaker: Breaker;
  readonly retry: RetryPolicy;
  /** Of one try. */
  readonly timeoutMs: number;
  readonly threads: Threads;
  upstreamModelOf(call: ProviderCall): string;
  /** Told of every try. */
  onAttempt(outcome: string, seconds: number): void;
}

/** Decimal numbers on lines of their own, indented; base64 needs a ninth of it. */
const BYTES_PER_VALUE_MAX = 48;
/** Answers above this take a millisecond or more to read: one goes on in each turn of the event loop. */
const PARSED_AT_ONCE_BYTES = 200_000;
const BYTES_PER_VECTOR_MAX = 1_024;
const BYTES_PER_REPLY_MAX = 65_536;

/** Makes upstream calls, one endpoint after the other, until one succeeds or it is pointless to go on. */
export class UpstreamSender {
  readonly #context: SenderContext;

  constructor(context: SenderContext) {
    this.#context = context;
  }

  /**
   * One batch within the caps, with its retries.
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
      if (choice.waitMs > 0) await this.#rest(choice.waitMs, signal, lastFault);
      const pass = breaker.enter();
      if (!pass) throw lastFault ? failedFor(name, lastFault) : this.#broken();
      let fault: UpstreamFault;
      try {
        return await this.#attempt(choice.endpoint, batch, pass);
      } catch (error) {
        if (!(error instanceof UpstreamFault) || signal.aborted) throw error;
        fault = error;
      }
      if (fault.kind === 'rejected') throw upstreamRejected(name, fault);
      if (fault.kind === 'unavailable') throw failedFor(name, fault);
      lastFault = fault;
      tried ??= new Set();
      tried.add(choice.endpoint);
      // Another key is no retry: this one is out of the choice for a while.
      if (fault.kind === 'refused') continue;
      const delayMs = retryDelayMs(retry, retries++, endpoints.hasFresh(tried) ? null : fault.retryAfterMs);
      if (delayMs === null) throw failedFor(name, fault);
      if (!endpoints.hasFresh(tried)) await waitMs(delayMs, signal);
    }
  }

  /** One try at one endpoint. Tells the breaker and the endpoints how it went. */
  async #attempt(endpoint: Endpoint, batch: ProviderCall, pass: Permit): Promise<ParsedVectors> {
    const { endpoints } = this.#context;
    const startedMs = performance.now();
    let outcome = 'abandoned';
    try {
      const parsed = await this.#exchange(endpoint, batch);
      outcome = 'ok';
      pass.succeeded();
      endpoints.succeeded(endpoint);
      return parsed;
    } catch (error) {
      if (!(error instanceof UpstreamFault) || batch.signal.aborted) {
        pass.abandoned();
        throw error;
      }
      outcome = error.kind === 'rejected' ? 'rejected' : causeOf(error);
      if (error.kind === 'transient') endpoints.failed(endpoint, error.retryAfterMs);
      else if (error.kind === 'refused') endpoints.refused(endpoint);
      else endpoints.succeeded(endpoint);
      // Whoever limits our rate, or judges our input or our key, is up.
      if (error.kind === 'transient' && error.status !== 429) pass.failed();
      else pass.succeeded();
      throw error;
    } finally {
      this.#context.onAttempt(outcome, (performance.now() - startedMs) / 1000);
    }
  }

  async #exchange(endpoint: Endpoint, batch: ProviderCall): Promise<ParsedVectors> {
    const { protocol, protocolName, threads, timeoutMs } = this.#context;
    const { model, texts, taskType, signal } = batch;
    const { apiKey, http, basePath } = endpoint;
    const dimensions = model.nativeDimension;
    const upstreamModel = this.#context.upstreamModelOf(batch);
    const request = protocol.request({ upstreamModel, texts, taskType, dimensions: model.upstreamDimensions, apiKey });
    const vectorBytesMax = BYTES_PER_VECTOR_MAX + dimensions * BYTES_PER_VALUE_MAX;
    const reply: HttpReply = await http.call({
      method: request.method,
      path: basePath + request.path,
      headers: request.headers,
      body: request.body,
      timeoutMs,
      bodyBytesMax: BYTES_PER_REPLY_MAX + texts.length * vectorBytesMax,
      signal,
    });
    const { status, headers, body } = reply;
    if (status < 200 || status > 299) throw protocol.faultOf(status, headers, body, apiKey);
    if (body.byteLength > PARSED_AT_ONCE_BYTES) await yieldToEventLoop();
    return parseOn(threads, { protocol: protocolName, headers, body, count: texts.length, dimensions }, signal);
  }

  /** The vendor named a time before which nobody shall come back. */
  async #rest(ms: number, signal: AbortSignal, lastFault: UpstreamFault | null): Promise<void> {
    const { name, retry } = this.#context;
    if (ms <= retry.serverDelayMaxMs) return waitMs(ms + retry.random() * retry.baseMs, signal);
    if (lastFault) throw failedFor(name, lastFault);
    throw providerUnavailable(name, 'http_429', 'it limits our rate', { retryAfterMs: ms });
  }

  #refused(lastFault: UpstreamFault | null) {
    const { name, endpoints } = this.#context;
    if (lastFault) return failedFor(name, lastFault);
    const retryAfterMs = endpoints.refusedForMs();
    return providerUnavailable(name, 'refused', 'it refused every key that is configured', { retryAfterMs });
  }

  #broken() {
    const { name, breaker } = this.#context;
    const why = 'its last calls failed, so that it is left alone for a while';
    return providerUnavailable(name, 'breaker_open', why, { retryAfterMs: breaker.waitMs() });
  }
}
