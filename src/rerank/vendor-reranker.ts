import { type Deadline, startDeadline } from '../platform/deadline.ts';
import { FairGate } from '../platform/fair-gate.ts';
import type { Logger } from '../platform/logger.ts';
import type { RemoteRerankSettings } from '../platform/provider-settings.ts';
import { Breaker } from '../platform/upstream/breaker.ts';
import { parseJson } from '../platform/upstream/parse-json.ts';
import { RETRY_DEFAULTS, retryDelayMs, waitMs } from '../platform/upstream/retry.ts';
import { HttpUpstream } from '../platform/upstream/transport.ts';
import { causeOf, failedFor, providerUnavailable, upstreamRejected } from '../platform/upstream/upstream-errors.ts';
import { UpstreamFault } from '../platform/upstream/upstream-fault.ts';
import type { UpstreamMetrics } from '../platform/upstream/upstream-metrics.ts';
import { currentWork } from '../platform/work-context.ts';
import { type RerankProtocol, rerankProtocolOf, scoresOf } from './protocols.ts';
import type { Reranker, RerankScores, RerankTask } from './reranker.ts';

/** Metrics label of all vendor rerankers. */
const NAME = 'rerank';
const REPLY_BYTES_MAX = 4 * 1024 * 1024;
/** Maximum number of waiting calls per organization. */
const WAITING_OF_ONE_MAX = 1_000;

interface VendorContext {
  readonly logger: Logger;
  readonly metrics?: Pick<UpstreamMetrics, 'attempted'>;
}

/**
 * Reranker over HTTP. One deadline spans all calls of a task. A circuit breaker fails fast while the reranker is down.
 * Organizations take turns for its slots.
 */
export class VendorReranker implements Reranker {
  readonly id: string;
  readonly owner: string;
  readonly #settings: RemoteRerankSettings;
  readonly #context: VendorContext;
  readonly #protocol: RerankProtocol;
  readonly #http: HttpUpstream;
  readonly #basePath: string;
  readonly #gate: FairGate;
  readonly #breaker: Breaker;

  constructor(settings: RemoteRerankSettings, context: VendorContext) {
    const { logger } = context;
    const { origin, pathname } = new URL(settings.baseUrl);
    const slots = settings.concurrencyMax;
    const { id } = settings;
    this.id = id;
    this.owner = settings.protocol;
    this.#settings = settings;
    this.#context = context;
    this.#protocol = rerankProtocolOf(settings.protocol);
    this.#http = new HttpUpstream(origin, { connectionsMax: slots });
    this.#basePath = pathname.replace(/\/+$/, '');
    this.#gate = new FairGate({ runningMax: slots, runningOfOneMax: slots, waitingOfOneMax: WAITING_OF_ONE_MAX });
    this.#breaker = new Breaker({
      onState: (state) =>
        logger[state === 'open' ? 'warn' : 'info'](
          { provider: NAME, model: id, state },
          'circuit breaker of the reranker',
        ),
    });
  }

  async score(task: RerankTask, signal: AbortSignal | undefined): Promise<RerankScores> {
    const abort = new AbortController();
    const eitherSignal = signal ? AbortSignal.any([signal, abort.signal]) : abort.signal;
    const late = () => providerUnavailable(this.id, 'timeout', `${this.id} did not score in time`);
    const deadline = startDeadline(task.timeoutMs ?? this.#settings.timeoutMs, eitherSignal, late);
    const owner = currentWork()?.orgId ?? '';
    const work = (batch: RerankTask) =>
      this.#gate.run(
        owner,
        () => this.#attempts(batch, deadline, eitherSignal),
        () => deadline.signal,
      );
    try {
      const parts = await Promise.all(this.#batchesOf(task).map(work));
      return { scores: parts.flatMap(({ scores }) => scores), tokens: sumOf(parts.map(({ tokens }) => tokens)) };
    } catch (error) {
      abort.abort(error);
      throw error;
    } finally {
      deadline.clear();
    }
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #batchesOf(task: RerankTask): RerankTask[] {
    const itemsMax = this.#settings.itemsMax ?? this.#protocol.itemsMax;
    const query = task.query.toWellFormed();
    const batches: RerankTask[] = [];
    for (let from = 0; from < task.texts.length; from += itemsMax) {
      batches.push({ ...task, query, texts: task.texts.slice(from, from + itemsMax) });
    }
    return batches;
  }

  async #attempts(batch: RerankTask, deadline: Deadline, signal: AbortSignal): Promise<RerankScores> {
    const policy = { ...RETRY_DEFAULTS, retriesMax: batch.retriesMax ?? 0, random: Math.random };
    for (let retry = 0; ; retry++) {
      try {
        return await this.#attempt(batch, deadline, signal);
      } catch (error) {
        if (!(error instanceof UpstreamFault) || signal.aborted) throw error;
        const delayMs = error.kind === 'transient' ? retryDelayMs(policy, retry, error.retryAfterMs) : null;
        if (delayMs === null || delayMs >= deadline.leftMs()) {
          this.#context.logger.warn({ provider: NAME, model: this.id, err: error }, 'the reranker failed');
          throw error.kind === 'rejected' ? upstreamRejected(this.id, error) : failedFor(this.id, error);
        }
        await waitMs(delayMs, deadline.signal);
      }
    }
  }

  /** Call the vendor once, and report the outcome to the circuit breaker and the metrics. */
  async #attempt(batch: RerankTask, deadline: Deadline, signal: AbortSignal): Promise<RerankScores> {
    const permit = this.#breaker.enter();
    if (!permit) throw providerUnavailable(this.id, 'breaker_open', 'its last calls failed');
    const beganMs = performance.now();
    let outcome = 'abandoned';
    try {
      // Use the remaining time as the call's own limit, so that a timeout counts as a failure of the vendor.
      const scores = await this.#exchange(batch, Math.max(1, deadline.leftMs()), signal);
      permit.succeeded();
      outcome = 'ok';
      return scores;
    } catch (error) {
      if (!(error instanceof UpstreamFault) || signal.aborted) {
        permit.abandoned();
        throw error;
      }
      if (error.kind === 'rejected' || error.status === 429) permit.succeeded();
      else permit.failed();
      outcome = causeOf(error);
      throw error;
    } finally {
      this.#context.metrics?.attempted(NAME, outcome, (performance.now() - beganMs) / 1000);
    }
  }

  async #exchange(batch: RerankTask, timeoutMs: number, signal: AbortSignal): Promise<RerankScores> {
    const { apiKey, model } = this.#settings;
    const protocol = this.#protocol;
    const request = protocol.request({ ...batch, refusesLong: batch.refusesLong ?? false, model, apiKey });
    const { status, headers, body } = await this.#http.call({
      method: request.method,
      path: this.#basePath + request.path,
      headers: request.headers,
      body: request.body,
      timeoutMs,
      bodyBytesMax: REPLY_BYTES_MAX,
      signal,
    });
    if (status < 200 || status > 299) throw protocol.faultOf(status, headers, body, apiKey);
    const answer = parseJson(body);
    return { scores: scoresOf(protocol, answer, batch.texts.length), tokens: protocol.tokensOf(answer, headers) };
  }
}

/** Sum token counts. Return null if one of them is unknown. */
function sumOf(counts: readonly (number | null)[]): number | null {
  return counts.reduce((sum, count) => (sum === null || count === null ? null : sum + count), 0);
}
