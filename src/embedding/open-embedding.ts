import type { LocalModels } from '../local-models/open-local-models.ts';
import { ALIAS_ID, Catalog, LEXICAL_ID } from '../models/catalog.ts';
import { openTokenCounters } from '../models/count-tokens.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Sql } from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import type { Threads } from '../platform/threads.ts';
import { openUpstreamMetrics, type UpstreamMetrics } from '../platform/upstream/upstream-metrics.ts';
import type { ProviderSettings } from '../platform/vendor-settings.ts';
import type { EmbedNative } from '../projection/calibration.ts';
import type { Projections } from '../projection/projections.ts';
import type { Meter } from '../usage/meter.ts';
import { Backends } from './backends.ts';
import { openCacheMetrics } from './cache/cache-metrics.ts';
import { ProjectedCache } from './cache/projected-cache.ts';
import { openRedisCache } from './cache/redis-cache.ts';
import { type Embedder, openEmbedder } from './embedder.ts';
import { openNativeVectors } from './native-vectors.ts';
import { openProjector } from './projector.ts';
import { openLocalProvider } from './providers/local-provider.ts';
import type { Provider } from './providers/provider.ts';
import { openRoutingTable, type RoutingTable } from './routing.ts';
import { openVendors, type Vendors } from './vendors/open-vendors.ts';

/** Share of the cache memory for canonical vectors. */
const PROJECTED_SHARE = 1 / 4;

export interface Embedding {
  readonly embedder: Embedder;
  readonly backends: Backends;
  readonly routing: RoutingTable;
  /** Vendors that operators added at run time. */
  readonly vendors: Vendors;
  /**
   * Load tokenizers and the language detector before listening, so that the first requests don't wait for them.
   *
   * @throws AppError `config_invalid`
   */
  prepare(): Promise<void>;
  /** Get native vectors from the provider without cache, projection or metering, for fitting and canaries. */
  readonly embedNative: EmbedNative;
  /** Metrics of all vendor calls, registered once per registry. */
  readonly upstreamMetrics: UpstreamMetrics;
  close(): Promise<void>;
}

export interface EmbeddingContext {
  readonly config: CatalogConfig & Pick<Config, 'alias' | 'embeddings'>;
  readonly sql: Sql;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
  readonly threads: Threads;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly projections: Projections;
  readonly meter: Meter;
  readonly redis: RedisConnection | null;
  readonly localModels: LocalModels;
}

/**
 * Open everything needed to embed texts, as configured by the operator.
 *
 * @throws AppError `config_invalid` if models, alias and providers do not match
 */
export async function openEmbedding(context: EmbeddingContext): Promise<Embedding> {
  const { config, threads, logger, metrics, projections, meter } = context;
  const catalog = openCatalog(config);
  const unwatch = context.localModels.watch((installed) => {
    for (const fault of catalog.setInstalled(installed))
      logger.error({ fault }, 'a local model does not fit the settings');
  });
  const upstreamMetrics = openUpstreamMetrics(metrics.registry);
  const local = openLocalProvider(threads, context.localModels);
  const open = async (name: string, settings: ProviderSettings) => {
    const { openProvider } = await import('./providers/open-provider.ts'); // the vendor client takes a while to load
    return openProvider({ name, settings, threads, logger, metrics: upstreamMetrics });
  };
  const providers = new Map<string, Provider>([['local', local]]);
  for (const [name, settings] of Object.entries(config.providers)) providers.set(name, await open(name, settings));
  const { builtIn } = context.localModels;
  const backends = new Backends({ catalog, providers, projections, alias: config.alias, builtIn });
  // Adding a vendor doesn't change the models of the alias, so that no vectors change.
  const aliasModels = Object.values(config.alias ?? {});
  const vendors = await openVendors({
    ...context,
    catalog,
    providers,
    open,
    configured: config.providers,
    aliasModels,
  });
  try {
    backends.checkAlias();
  } catch (error) {
    await vendors.close();
    throw error;
  }
  const counters = openTokenCounters(threads);
  const natives = openNativeVectors({
    cacheBytes: config.embeddings.cacheBytes * (1 - PROJECTED_SHARE),
    redis: context.redis === null ? null : openRedisCache({ redis: context.redis, logger }),
    metrics: openCacheMetrics(metrics.registry),
  });
  const routing = openRoutingTable(context.sql, backends);
  const { deadlineMs } = config.embeddings;
  const servedModels = () => catalog.list().filter((model) => model.kind === 'semantic' && backends.isAvailable(model));
  return {
    embedder: openEmbedder({
      backends,
      projections,
      counters,
      natives,
      routing,
      meter,
      metrics,
      deadlineMs,
      projector: openProjector(),
      projected: new ProjectedCache(config.embeddings.cacheBytes * PROJECTED_SHARE),
    }),
    backends,
    routing,
    vendors,
    upstreamMetrics,
    async prepare() {
      await counters.prepare(servedModels());
      await backends.prepare();
    },
    async embedNative({ model, texts, taskType, isBackground = false, signal }) {
      const prefix = model.prefixes[taskType] ?? '';
      const sent = texts.map((text) => prefix + text);
      const counts = await counters.count(model, sent, signal);
      const provider = backends.providerOf(model);
      return (await provider.embed({ model, texts: sent, counts, taskType, isBackground, signal })).vectors;
    },
    async close() {
      unwatch();
      await vendors.close();
      await natives.close();
      await Promise.all([...providers.values()].map((provider) => provider.close()));
    },
  };
}

/** Settings that determine the catalog. */
type CatalogConfig = Pick<Config, 'models' | 'modelNames' | 'providers' | 'rerank' | 'rerankers'>;

/** @throws AppError `config_invalid` */
export function openCatalog({ models, modelNames, providers, rerank, rerankers }: CatalogConfig): Catalog {
  // Rerankers aren't embedding models.
  const reranking = new Set([rerank, ...rerankers].map((each) => each?.id));
  return new Catalog(
    models,
    Object.fromEntries(Object.entries(providers).map(([vendor, own]) => [vendor, own.models])),
    Object.fromEntries(Object.entries(modelNames).filter(([, id]) => !reranking.has(id))),
    Object.fromEntries(Object.entries(providers).map(([vendor, { protocol }]) => [vendor, protocol])),
  );
}

/**
 * List the models of the alias from the settings alone; empty if the built-in model serves it.
 *
 * @throws AppError `config_invalid`
 */
export function aliasBackendsOf(config: CatalogConfig & Pick<Config, 'alias'>): string[] {
  // The settings may name models of vendors that were added in the console.
  if (config.alias !== null) return [...new Set(Object.values(config.alias))];
  const catalog = openCatalog(config);
  const projections: Projections = { mapOf: () => null, stateOf: () => null };
  // Only the names of the providers matter here.
  const providers = new Map(['local', ...Object.keys(config.providers)].map((name) => [name, {} as Provider]));
  const backends = new Backends({ catalog, providers, projections, alias: null, builtIn: 'lexical' });
  return backends.isAliasBuiltIn ? [] : backends.aliasBackends.map(({ id }) => id);
}

/**
 * Check that models, alias and providers match, without opening anything.
 *
 * @returns notes on what the settings alone can't show: models of vendors that may have been added in the console
 * @throws AppError `config_invalid`
 */
export function checkEmbeddingSettings(config: CatalogConfig & Pick<Config, 'alias'>): string[] {
  const projections: Projections = { mapOf: () => null, stateOf: () => null };
  const catalog = openCatalog(config);
  // Installed models are known only once the database is open.
  const aliases = Object.entries(config.alias ?? {}).filter(([, id]) => id === LEXICAL_ID || !id.startsWith('local/'));
  const isConfigured = (id: string) => id === LEXICAL_ID || Object.hasOwn(config.providers, vendorOf(catalog, id));
  const known = Object.fromEntries(aliases.filter(([, id]) => isConfigured(id)));
  const alias = { default: LEXICAL_ID, ...known };
  new Backends({ catalog, providers: new Map(), projections, alias, builtIn: 'lexical' }).checkAlias();
  return aliases.flatMap(([language, id]) =>
    isConfigured(id)
      ? []
      : `alias.${ALIAS_ID}.${language}: ${id} needs the vendor ${vendorOf(catalog, id)}, which is not in providers; the service starts only if it was added in the console`,
  );
}

/** Return a model's vendor from the catalog, or else the first part of its id. */
function vendorOf(catalog: Catalog, id: string): string {
  return catalog.get(id)?.vendor ?? id.split('/', 1)[0] ?? id;
}
