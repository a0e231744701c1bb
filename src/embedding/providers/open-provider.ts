import { type Model, withoutVendor } from '../../models/catalog.ts';
import { CL100K_TOKEN_BYTES_MAX } from '../../models/cl100k.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Threads } from '../../platform/threads.ts';
import { Breaker } from '../../platform/upstream/breaker.ts';
import { RETRY_DEFAULTS } from '../../platform/upstream/retry.ts';
import { HttpUpstream } from '../../platform/upstream/transport.ts';
import { isRejection, providerUnavailable } from '../../platform/upstream/upstream-errors.ts';
import type { UpstreamMetrics } from '../../platform/upstream/upstream-metrics.ts';
import type { ProviderSettings } from '../../platform/vendor-settings.ts';
import { CapsFinder } from './caps-finder.ts';
import { openCredential } from './credentials/open-credential.ts';
import { Dispatcher } from './dispatcher.ts';
import { Endpoints } from './endpoints.ts';
import type { UpstreamCaps } from './protocols/protocol.ts';
import { protocolOf } from './protocols/protocol-of.ts';
import { type Provider, type ProviderCall, withExactCounts } from './provider.ts';
import { shareTokens } from './share-tokens.ts';
import { type Endpoint, UpstreamSender } from './upstream-sender.ts';

export interface ProviderOptions {
  /** Name of the vendor in the settings. */
  readonly name: string;
  readonly settings: ProviderSettings;
  readonly threads: Threads;
  readonly logger: Logger;
  readonly metrics?: UpstreamMetrics;
  /** Random number in [0, 1) for the jitter of retries. */
  readonly random?: () => number;
  /** Monotonic clock in milliseconds, for cooldowns and the breaker. */
  readonly now?: () => number;
}

/** Maximum queued texts of all organizations. One organization may queue half of them. */
const QUEUED_TEXTS_MAX = 40_000;
/** Share of a vendor's token cap to use with estimated tokens, since an estimate may be 10% too low. */
const ESTIMATE_MARGIN = 0.9;

/**
 * Open a vendor with its wire protocol, batching, bounded concurrency, retries, a circuit breaker and several keys.
 * Don't send anything before the first call.
 */
export function openProvider(options: ProviderOptions): Provider {
  const { name, settings, threads, logger, metrics } = options;
  const protocol = protocolOf(settings.protocol);
  const now = options.now ?? (() => performance.now());
  const upstreams = new Map<string, HttpUpstream>();
  const opened = endpointsOf(settings, upstreams);
  const endpoints = new Endpoints(opened, {
    now,
    onCooldown: (endpoint, cause, cooldownMs) =>
      logger.warn(
        { provider: name, endpoint, cause, cooldownMs },
        'an endpoint of a provider cools down; no calls are sent to it meanwhile',
      ),
  });
  const breaker = new Breaker({
    now,
    onState: (state) =>
      logger[state === 'open' ? 'warn' : 'info'](
        { provider: name, state },
        'the circuit breaker of a provider has changed its state',
      ),
  });
  const upstreamModelOf = (model: Model) => settings.models[model.id] ?? withoutVendor(model);
  const sender = new UpstreamSender({
    name,
    protocolName: settings.protocol,
    protocol,
    apiVersion: settings.apiVersion,
    endpoints,
    breaker,
    retry: { ...RETRY_DEFAULTS, retriesMax: settings.retriesMax, random: options.random ?? Math.random },
    timeoutMs: settings.timeoutMs,
    threads,
    upstreamModelOf,
    onAttempt: (outcome, seconds) => metrics?.attempted(name, outcome, seconds),
  });
  const caps = new CapsFinder({ protocol, endpoints, settings, now });
  const dispatcher = new Dispatcher({
    concurrencyMax: settings.concurrencyMax,
    queuedTextsMax: QUEUED_TEXTS_MAX,
    capsOf(call) {
      const { itemsMax, tokensMax } = caps.of(upstreamModelOf(call.model));
      const isEstimate = call.model.tokenizer.kind === 'estimate';
      return { itemsMax, tokensMax: tokensMax !== null && isEstimate ? tokensMax * ESTIMATE_MARGIN : tokensMax };
    },
    async send(batch: ProviderCall) {
      const { vectors, tokens } = await sender.send(batch);
      const isEstimate = batch.model.tokenizer.kind === 'estimate';
      if (isEstimate) return { vectors, tokens: shareTokens(tokens, batch.counts) };
      if (isTotalOf(batch, tokens)) return { vectors, tokens: shareTokens(tokens, batch.counts) };
      return { vectors, tokens: (await withExactCounts(batch)).counts };
    },
    isRejection,
    overloaded: () => providerUnavailable(name, 'overloaded', 'too many texts are already queued for it'),
  });
  const unwatch = metrics?.watch(name, () => ({
    inFlight: dispatcher.inFlight,
    queuedTexts: dispatcher.queuedTexts,
    breaker: breaker.state,
  }));
  return {
    name,
    async embed(call) {
      if (!caps.isKnown) await caps.find(call.signal);
      return dispatcher.embed(
        isWithin(caps.of(upstreamModelOf(call.model)), call) ? call : await withExactCounts(call),
      );
    },
    isBlocked: () => breaker.waitMs() > 0,
    async close() {
      unwatch?.();
      dispatcher.close(providerUnavailable(name, 'closing', 'the service is shutting down'));
      await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
      await Promise.all(opened.map(({ credential }) => credential.close()));
    },
  };
}

/** Return true if splitting by upper bounds causes no more upstream calls than exact counts would. */
function isWithin({ itemsMax, tokensMax }: UpstreamCaps, { counts, countExactly }: ProviderCall): boolean {
  if (countExactly === undefined || tokensMax === null) return true;
  for (let from = 0; from < counts.length; from += itemsMax) {
    if (sumOf(counts.slice(from, from + itemsMax)) > tokensMax) return false;
  }
  return true;
}

/** Return true if the texts weren't counted and the vendor's total is plausible for them. */
function isTotalOf({ counts, countExactly }: ProviderCall, total: number | null): total is number {
  if (countExactly === undefined || total === null) return false;
  const most = sumOf(counts);
  return total >= Math.max(counts.length, most / CL100K_TOKEN_BYTES_MAX) && total <= most;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Open the endpoints of the settings. Endpoints on one origin share its connections. */
function endpointsOf(settings: ProviderSettings, upstreams: Map<string, HttpUpstream>): Endpoint[] {
  return settings.endpoints.map((endpoint) => {
    const { name, baseUrl, weight } = endpoint;
    const { origin, pathname } = new URL(baseUrl);
    const http = upstreams.get(origin) ?? new HttpUpstream(origin, { connectionsMax: settings.concurrencyMax });
    upstreams.set(origin, http);
    const basePath = pathname.replace(/\/+$/, '');
    return { name, weight, http, origin, basePath, credential: openCredential(endpoint) };
  });
}
