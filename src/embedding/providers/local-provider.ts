import type { LocalModels } from '../../local-models/open-local-models.ts';
import type { Threads } from '../../platform/threads.ts';
import { embedLexical, embedLexicalPassages } from './local.ts';
import { type Provider, type ProviderCall, type ProviderReply, withExactCounts } from './provider.ts';

/** Maximum characters to hash on the event loop. Longer texts are hashed on a thread. */
const INLINE_CHARS_MAX = 32_768;

/**
 * Open this host's models as a provider. The built-in model runs in this process and costs less than a cache lookup.
 * Installed models run in separate processes.
 */
export function openLocalProvider(threads: Threads, localModels: Pick<LocalModels, 'embed'>): Provider {
  return {
    name: 'local',
    async embed(asked) {
      const call = await withExactCounts(asked);
      if (call.model.local === null) return embedByWords(threads, call);
      const { model, texts, counts, taskType, signal } = call;
      // Passages come from document ingestion, so no client is waiting for them.
      const isBackground = call.isBackground || call.isBulk || taskType === 'retrieval_document';
      const vectors = await localModels.embed(model.local?.name ?? model.id, texts, { isBackground }, signal);
      return { vectors, tokens: counts };
    },
    async close() {},
  };
}

/** Embed with the built-in model, on a thread if the texts are long. */
export async function embedByWords(
  threads: Threads,
  { texts, counts, taskType, signal }: ProviderCall,
): Promise<ProviderReply> {
  const passages = taskType === 'retrieval_document';
  let chars = 0;
  for (const text of texts) chars += text.length;
  if (chars <= INLINE_CHARS_MAX) {
    return { vectors: passages ? embedLexicalPassages(texts) : embedLexical(texts), tokens: counts };
  }
  const name = passages ? 'embedLexicalPassages' : 'embedLexical';
  const vectors = await threads.run<Float32Array>(new URL('./local.ts', import.meta.url), name, texts, { signal });
  return { vectors, tokens: counts };
}
