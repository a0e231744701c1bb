import type { Logger } from '../../platform/logger.ts';
import type { RemoteRerankSettings } from '../../platform/provider-settings.ts';
import { Breaker } from '../../platform/upstream/breaker.ts';
import { parseJson } from '../../platform/upstream/parse-json.ts';
import { HttpUpstream } from '../../platform/upstream/transport.ts';
import { causeOf, failedFor, providerUnavailable } from '../../platform/upstream/upstream-errors.ts';
import { UpstreamFault } from '../../platform/upstream/upstream-fault.ts';
import type { UpstreamMetrics } from '../../platform/upstream/upstream-metrics.ts';
import { rerankProtocolOf, scoresOf } from './protocols.ts';

export interface Reranker {
  /**
   * Score how well each text answers the query.
   *
   * @returns a score 0..1 for each text, in their order
   * @throws AppError `provider_unavailable` (502) if the call fails, times out or the circuit breaker is open; the
   *   signal's reason once it is aborted
   */
  score(query: string, texts: readonly string[], signal: AbortSignal | undefined): Promise<number[]>;
  close(): Promise<void>;
}

/** Name of the reranker in logs and metrics. */
const NAME = 'rerank';
const REPLY_BYTES_MAX = 4 * 1024 * 1024;

/**
 * Open the reranker of `service.yaml`. A search waits for it, so no call is retried: one deadline spans all the calls
 * of a search, and a circuit breaker spares searches the wait for a reranker that is down.
 */
export function openReranker(
  settings: RemoteRerankSettings,
  { logger, metrics }: { logger: Logger; metrics?: Pick<UpstreamMetrics, 'attempted'> },
): Reranker {
  const protocol = rerankProtocolOf(settings.protocol);
  const { origin, pathname } = new URL(settings.baseUrl);
  const http = new HttpUpstream(origin, { connectionsMax: settings.concurrencyMax });
  const basePath = pathname.replace(/\/+$/, '');
  const breaker = new Breaker({
    onState: (state) =>
      logger[state === 'open' ? 'warn' : 'info']({ provider: NAME, state }, 'circuit breaker of the reranker'),
  });

  async function call(
    query: string,
    texts: readonly string[],
    signal: AbortSignal,
    timeoutMs: number,
  ): Promise<number[]> {
    const { apiKey, model } = settings;
    const request = protocol.request({ model, apiKey, query, texts });
    const reply = await http.call({
      method: request.method,
      path: basePath + request.path,
      headers: request.headers,
      body: request.body,
      timeoutMs,
      bodyBytesMax: REPLY_BYTES_MAX,
      signal,
    });
    if (reply.status < 200 || reply.status > 299) {
      throw protocol.faultOf(reply.status, reply.headers, reply.body, apiKey);
    }
    return scoresOf(protocol, parseJson(reply.body), texts.length);
  }

  async function attempt(query: string, texts: readonly string[], signal: AbortSignal): Promise<number[]> {
    const pass = breaker.enter();
    if (!pass) throw providerUnavailable(NAME, 'breaker_open', 'its last calls failed');
    const beganMs = performance.now();
    const record = (outcome: string) => metrics?.attempted(NAME, outcome, (performance.now() - beganMs) / 1000);
    try {
      const scores = await call(query, texts, signal, settings.timeoutMs);
      pass.succeeded();
      record('ok');
      return scores;
    } catch (error) {
      if (!(error instanceof UpstreamFault) || signal.aborted) {
        pass.abandoned();
        record('abandoned');
        throw error;
      }
      if (error.kind === 'rejected' || error.status === 429) pass.succeeded();
      else pass.failed();
      record(causeOf(error));
      logger.warn({ provider: NAME, err: error }, 'the reranker failed; results stay in fused order');
      throw failedFor(NAME, error);
    }
  }

  return {
    async score(query, texts, signal) {
      const itemsMax = settings.itemsMax ?? protocol.itemsMax;
      const abort = new AbortController();
      const eitherSignal = signal ? AbortSignal.any([signal, abort.signal]) : abort.signal;
      const batches: string[][] = [];
      for (let from = 0; from < texts.length; from += itemsMax) batches.push(texts.slice(from, from + itemsMax));
      try {
        // All batches at once, so that the timeout of each is the deadline of all.
        const scores = await Promise.all(batches.map((batch) => attempt(query.toWellFormed(), batch, eitherSignal)));
        return scores.flat();
      } catch (error) {
        abort.abort(error);
        throw error;
      }
    },
    close: () => http.close(),
  };
}
