import type { Threads } from '../../platform/threads.ts';
import { embedLexical, embedLexicalPassages } from './local.ts';
import type { Provider } from './provider.ts';

/** Texts of more characters than this are hashed on a thread, so that they do not block the event loop. */
const INLINE_CHARS_MAX = 32_768;

/** Open the built-in model as a provider. It runs in this process and costs less than a cache lookup. */
export function openLocalProvider(threads: Threads): Provider {
  return {
    name: 'local',
    async embed({ texts, counts, taskType, signal }) {
      const passages = taskType === 'retrieval_document';
      let chars = 0;
      for (const text of texts) chars += text.length;
      if (chars <= INLINE_CHARS_MAX) {
        return { vectors: passages ? embedLexicalPassages(texts) : embedLexical(texts), tokens: counts };
      }
      const name = passages ? 'embedLexicalPassages' : 'embedLexical';
      const vectors = await threads.run<Float32Array>(new URL('./local.ts', import.meta.url), name, texts, { signal });
      return { vectors, tokens: counts };
    },
    async close() {},
  };
}
