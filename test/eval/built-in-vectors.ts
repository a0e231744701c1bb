/**
 * Vectors of judged texts by `local/semantic-1`. They are kept in the folder for temporary files, since the model takes
 * minutes for a set.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import path from 'node:path';
import { BUILT_IN_MODEL } from '../../src/local-models/built-in/built-in-model.ts';
import { argumentOfBuiltIn } from '../../src/local-models/open-local-models.ts';
import { ModelProcess } from '../../src/local-models/runtime/model-process.ts';
import { INDEX_DIMENSIONS, resizeVectors } from '../../src/projection/resize.ts';

const KEPT = path.join(tmpdir(), 'service-eval-vectors');
const START_MS_MAX = 120_000;
const { dimension, prefixes } = BUILT_IN_MODEL.spec;

export interface BuiltInVectors {
  /** @returns Float32Array [texts x 1024], row-major */
  queries(texts: readonly string[]): Promise<Float32Array>;
  passages(texts: readonly string[]): Promise<Float32Array>;
  close(): Promise<void>;
}

export function openBuiltInVectors(): BuiltInVectors {
  const settings = {
    threads: availableParallelism(),
    idleMs: 0,
    hubUrl: '',
    hubToken: null,
    folder: null,
    runtimeLibrary: null,
  };
  let started: Promise<ModelProcess> | null = null;
  const embed = async (texts: readonly string[], prefix = '') => {
    const sent = texts.map((text) => prefix + text);
    const key = createHash('sha256')
      .update(JSON.stringify([BUILT_IN_MODEL.revision, sent]))
      .digest('hex');
    const file = path.join(KEPT, key);
    if (!existsSync(file)) {
      started ??= ModelProcess.start(argumentOfBuiltIn(settings), START_MS_MAX);
      const task = { texts: sent, query: null, isBackground: false };
      const vectors = await (await started).run(task, new AbortController().signal);
      mkdirSync(KEPT, { recursive: true });
      writeFileSync(file, vectors);
    }
    const bytes = Uint8Array.from(readFileSync(file)).buffer;
    return resizeVectors(new Float32Array(bytes), dimension, INDEX_DIMENSIONS);
  };
  return {
    queries: (texts) => embed(texts, prefixes.retrieval_query),
    passages: (texts) => embed(texts, prefixes.retrieval_document),
    close: async () => (await started)?.stop(),
  };
}
