import type { LocalModels } from '../../local-models/open-local-models.ts';
import type { Logger } from '../../platform/logger.ts';
import type { RerankSettings } from '../../platform/provider-settings.ts';
import type { UpstreamMetrics } from '../../platform/upstream/upstream-metrics.ts';
import { openLocalReranker } from './local-reranker.ts';
import { openReranker, type Reranker } from './reranker.ts';

/** Open the reranker of the settings: a vendor's, or a model of this host. */
export function openAnyReranker(
  settings: RerankSettings,
  context: {
    readonly logger: Logger;
    readonly metrics: Pick<UpstreamMetrics, 'attempted'>;
    readonly localModels: Pick<LocalModels, 'score'>;
  },
): Reranker {
  return settings.kind === 'local' ? openLocalReranker(settings, context.localModels) : openReranker(settings, context);
}
