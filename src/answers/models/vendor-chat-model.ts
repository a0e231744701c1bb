import type { AnswerSettings } from '../../platform/answer-settings.ts';
import { type Deadline, startDeadline } from '../../platform/deadline.ts';
import { FairGate } from '../../platform/fair-gate.ts';
import type { Logger } from '../../platform/logger.ts';
import { readStart } from '../../platform/read-start.ts';
import { Breaker } from '../../platform/upstream/breaker.ts';
import { RefusedFieldError, refusalOf } from '../../platform/upstream/refused-fields.ts';
import { RETRY_DEFAULTS, retryDelayMs, waitMs } from '../../platform/upstream/retry.ts';
import { HttpUpstream } from '../../platform/upstream/transport.ts';
import { causeOf, failedFor, providerUnavailable, upstreamRejected } from '../../platform/upstream/upstream-errors.ts';
import { UpstreamFault } from '../../platform/upstream/upstream-fault.ts';
import type { UpstreamMetrics } from '../../platform/upstream/upstream-metrics.ts';
import { currentWork } from '../../platform/work-context.ts';
import type { ChatModel, ChatPart, ChatTask } from './chat-model.ts';
import { type ChatProtocol, chatProtocolOf } from './protocols.ts';
import { readParts } from './read-parts.ts';

/** Name of the chat model in metrics. */
const NAME = 'answers';
const RETRIES_MAX = 2;
/** Maximum pause between two parts of an answer. Reasoning models are silent for a while. */
const SILENCE_MS = 30_000;
const ERROR_BODY_BYTES_MAX = 65_536;
/** Maximum number of waiting questions per organization. */
const WAITING_OF_ONE_MAX = 100;

/**
 * Chat model over HTTP. One deadline covers all attempts and the whole answer. A circuit breaker fails fast while the
 * model is down. Organizations take turns for its slots.
 */
export class VendorChatModel implements ChatModel {
  readonly id: string;
  readonly #settings: AnswerSettings;
  readonly #logger: Logger;
  readonly #metrics: Pick<UpstreamMetrics, 'attempted'>;
  readonly #protocol: ChatProtocol;
  readonly #http: HttpUpstream;
  readonly #basePath: string;
  readonly #gate: FairGate;
  readonly #breaker: Breaker;
  readonly #refusedFields = new Set<string>();

  constructor(settings: AnswerSettings, logger: Logger, metrics: Pick<UpstreamMetrics, 'attempted'>) {
    const { origin, pathname } = new URL(settings.baseUrl);
    this.id = settings.model;
    this.#settings = settings;
    this.#logger = logger;
    this.#metrics = metrics;
    this.#protocol = chatProtocolOf(settings.protocol);
    this.#http = new HttpUpstream(origin, { connectionsMax: settings.concurrencyMax });
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#gate = new FairGate({
      runningMax: settings.concurrencyMax,
      runningOfOneMax: settings.concurrencyOfOneMax,
      waitingOfOneMax: WAITING_OF_ONE_MAX,
    });
    this.#breaker = new Breaker({
      onState: (state) =>
        logger[state === 'open' ? 'warn' : 'info'](
          { provider: NAME, model: settings.model, state },
          'circuit breaker of the chat model',
        ),
    });
  }

  async *ask(task: ChatTask, signal: AbortSignal): AsyncGenerator<ChatPart, void> {
    const late = () => providerUnavailable(this.id, 'timeout', `${this.id} did not answer in time`);
    const deadline = startDeadline(this.#settings.timeoutMs, signal, late);
    try {
      const leave = await this.#enter(deadline.signal);
      // Release the slot even if the reader stalls.
      deadline.signal.addEventListener('abort', leave, { once: true });
      try {
        yield* this.#attempts(task, deadline);
      } finally {
        leave();
      }
    } finally {
      deadline.clear();
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  /** Wait for a slot. @returns function that releases it */
  #enter(signal: AbortSignal): Promise<() => void> {
    const { promise: left, resolve: leave } = Promise.withResolvers<void>();
    return new Promise((entered, refused) => {
      const stay = async () => {
        entered(leave);
        await left;
      };
      this.#gate.run(currentWork()?.orgId ?? '', stay, () => signal).catch(refused);
    });
  }

  async *#attempts(task: ChatTask, deadline: Deadline): AsyncGenerator<ChatPart, void> {
    const policy = { ...RETRY_DEFAULTS, retriesMax: RETRIES_MAX, random: Math.random };
    for (let retry = 0; ; ) {
      let hasBegun = false;
      try {
        for await (const part of this.#attempt(task, deadline)) {
          hasBegun = true;
          yield part;
        }
        return;
      } catch (error) {
        if (error instanceof RefusedFieldError) {
          this.#refusedFields.add(error.field);
          continue;
        }
        if (!(error instanceof UpstreamFault) || deadline.signal.aborted) throw error;
        const mayRepeat = error.kind === 'transient' && !hasBegun;
        const delayMs = mayRepeat ? retryDelayMs(policy, retry++, error.retryAfterMs) : null;
        if (delayMs === null || delayMs >= deadline.leftMs()) throw this.#failed(error);
        await waitMs(delayMs, deadline.signal);
      }
    }
  }

  #failed(fault: UpstreamFault) {
    this.#logger.warn({ provider: NAME, model: this.id, err: fault }, 'the chat model failed');
    return fault.kind === 'rejected' ? upstreamRejected(this.id, fault) : failedFor(this.id, fault);
  }

  /** Call the model once, and report the outcome to the circuit breaker and the metrics. */
  async *#attempt(task: ChatTask, deadline: Deadline): AsyncGenerator<ChatPart, void> {
    const permit = this.#breaker.enter();
    if (!permit) throw providerUnavailable(this.id, 'breaker_open', 'its last calls failed');
    const beganMs = performance.now();
    let outcome = 'abandoned';
    try {
      const body = await this.#open(task, deadline);
      yield* readParts(this.#protocol, body, task.outputTokensMax);
      outcome = 'ok';
    } catch (error) {
      if (error instanceof RefusedFieldError) outcome = 'rejected';
      else if (error instanceof UpstreamFault && !deadline.signal.aborted) outcome = causeOf(error);
      throw error;
    } finally {
      if (outcome === 'abandoned' && deadline.leftMs() === 0) outcome = 'timeout';
      if (outcome === 'abandoned') permit.abandoned();
      else if (ANSWERED.has(outcome)) permit.succeeded();
      else permit.failed();
      this.#metrics.attempted(NAME, outcome, (performance.now() - beganMs) / 1000);
    }
  }

  /** Send the request. @throws UpstreamFault for an error response, RefusedFieldError */
  async #open(task: ChatTask, deadline: Deadline): Promise<AsyncIterable<Uint8Array>> {
    const { model, apiKey } = this.#settings;
    // Copy the set, since a concurrent request may add a field.
    const refusedFields = new Set(this.#refusedFields);
    const request = this.#protocol.request({ ...task, model, apiKey, refusedFields });
    const reply = await this.#http.stream({
      method: 'POST',
      path: this.#basePath + request.path,
      headers: request.headers,
      body: request.body ?? '',
      timeoutMs: Math.max(1, deadline.leftMs()),
      silenceMs: SILENCE_MS,
      signal: deadline.signal,
    });
    const { status, headers } = reply;
    if (status >= 200 && status <= 299) return reply.body;
    const body = await readStart(reply.body, ERROR_BODY_BYTES_MAX);
    throw refusalOf(this.#protocol, { status, headers, body }, apiKey, refusedFields);
  }
}

/** Outcomes that show that the model is up. */
const ANSWERED: ReadonlySet<string> = new Set(['ok', 'rejected', 'http_400', 'http_413', 'http_422', 'http_429']);
