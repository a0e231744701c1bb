import type { LocalModels } from '../local-models/open-local-models.ts';
import { startDeadline } from '../platform/deadline.ts';
import type { LocalRerankSettings } from '../platform/provider-settings.ts';
import { providerUnavailable } from '../platform/upstream/upstream-errors.ts';
import type { Reranker } from './reranker.ts';

/** Open a local cross-encoder as a reranker. The model truncates texts that are too long for it. */
export function openLocalReranker(
  settings: Pick<LocalRerankSettings, 'model' | 'timeoutMs'>,
  localModels: Pick<LocalModels, 'score'>,
): Reranker {
  const { model } = settings;
  const late = () => providerUnavailable(model, 'timeout', `${model} did not score in time`);
  return {
    id: model,
    owner: 'local',
    async score({ query, texts, timeoutMs = settings.timeoutMs }, signal) {
      const deadline = startDeadline(timeoutMs, signal, late);
      try {
        const scores = await localModels.score(model, query.toWellFormed(), texts, deadline.signal);
        return { scores, tokens: null };
      } finally {
        deadline.clear();
      }
    },
    async close() {},
  };
}
