import type { LocalModels } from '../../local-models/open-local-models.ts';
import type { LocalRerankSettings } from '../../platform/provider-settings.ts';
import { providerUnavailable } from '../../platform/upstream/upstream-errors.ts';
import type { Reranker } from './reranker.ts';

/**
 * Open a cross-encoder of this host as the reranker. One deadline spans a search, as for a vendor's reranker. If the
 * model is still loading, results stay in fused order.
 */
export function openLocalReranker(settings: LocalRerankSettings, localModels: Pick<LocalModels, 'score'>): Reranker {
  return {
    async score(query, texts, signal) {
      const late = AbortSignal.timeout(settings.timeoutMs);
      try {
        const either = signal ? AbortSignal.any([signal, late]) : late;
        return await localModels.score(settings.model, query.toWellFormed(), texts, either);
      } catch (error) {
        if (!late.aborted || signal?.aborted) throw error;
        throw providerUnavailable('rerank', 'timeout', `${settings.model} did not score in time`);
      }
    },
    async close() {},
  };
}
