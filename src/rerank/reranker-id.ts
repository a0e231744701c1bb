import type { RerankSettings } from '../platform/provider-settings.ts';

/** Return the name of a reranker in requests: its model, or `tei` for a server that holds one unnamed model. */
export function rerankerIdOf(settings: RerankSettings): string {
  return settings.kind === 'local' ? settings.model : (settings.model ?? settings.protocol);
}
