import type { Embedding } from '../embedding/open-embedding.ts';
import type { LocalModels } from '../local-models/open-local-models.ts';
import { openTokenCounters } from '../models/count-tokens.ts';
import type { Config } from '../platform/config.ts';
import { invalidSettings } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { RerankSettings } from '../platform/provider-settings.ts';
import type { Threads } from '../platform/threads.ts';
import type { Meter } from '../usage/meter.ts';
import { openLocalReranker } from './local-reranker.ts';
import { type RerankTexts, rerankTexts } from './rerank-texts.ts';
import type { Reranker } from './reranker.ts';
import { RerankerList } from './reranker-list.ts';

/** Rerankers from the settings, and local ones. */
export interface Rerankers {
  /** Reranker for searches, from the setting `rerank`; null if it is not set. */
  readonly ofSearch: Reranker | null;
  readonly list: RerankerList;
  /** Score texts for a request: choose a reranker, fall back to another one, and meter the usage. */
  readonly rerank: RerankTexts;
  close(): Promise<void>;
}

export interface RerankersContext {
  readonly config: Pick<Config, 'rerank' | 'rerankers' | 'modelNames' | 'embeddings'>;
  readonly logger: Logger;
  readonly threads: Threads;
  readonly embedding: Pick<Embedding, 'upstreamMetrics'>;
  readonly localModels: Pick<LocalModels, 'score' | 'rerankers'>;
  readonly meter: Meter;
}

/** @throws AppError `config_invalid` if two rerankers have the same name */
export async function openRerankers(context: RerankersContext): Promise<Rerankers> {
  const { config, threads, localModels, meter } = context;
  checkRerankSettings(config);
  const configured: Reranker[] = [];
  for (const settings of settingsOf(config)) configured.push(await openReranker(settings, context));
  const list = new RerankerList({ configured, localModels, names: config.modelNames });
  const counters = openTokenCounters(threads);
  const { deadlineMs } = config.embeddings;
  return {
    ofSearch: config.rerank === null ? null : (configured[0] ?? null),
    list,
    rerank: (request) => rerankTexts({ list, counters, meter, deadlineMs }, request),
    async close() {
      await Promise.all(configured.map((reranker) => reranker.close()));
    },
  };
}

/** Check that reranker names are unique. @throws AppError `config_invalid` */
export function checkRerankSettings(config: Pick<Config, 'rerank' | 'rerankers'>): void {
  const seen = new Set<string>();
  for (const { id } of settingsOf(config)) {
    if (seen.has(id)) {
      throw invalidSettings([`rerankers: two rerankers have the name ${id}; give one another model`]);
    }
    seen.add(id);
  }
}

/** List the configured rerankers, starting with the one for searches. */
function settingsOf({ rerank, rerankers }: Pick<Config, 'rerank' | 'rerankers'>): readonly RerankSettings[] {
  return rerank === null ? rerankers : [rerank, ...rerankers];
}

/** Load the vendor client on demand: it loads slowly, and most installations have no reranker over HTTP. */
async function openReranker(
  settings: RerankSettings,
  { logger, embedding, localModels }: Pick<RerankersContext, 'logger' | 'embedding' | 'localModels'>,
): Promise<Reranker> {
  if (settings.kind === 'local') return openLocalReranker(settings, localModels);
  const { VendorReranker } = await import('./vendor-reranker.ts');
  return new VendorReranker(settings, { logger, metrics: embedding.upstreamMetrics });
}
