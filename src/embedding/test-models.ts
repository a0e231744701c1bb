import type { LocalModels } from '../local-models/open-local-models.ts';
import type { Model } from '../models/catalog.ts';
import { AppError } from '../platform/errors.ts';
import type { Backends } from './backends.ts';
import type { Embedder } from './embedder.ts';

export interface ModelTest {
  readonly model: string;
  readonly status: 'ok' | 'failed' | 'not configured';
  readonly latency_ms: number | null;
  readonly dimensions: number | null;
  /** Euclidean norm of the returned vector: 1, up to rounding. */
  readonly norm: number | null;
  readonly tokens: number | null;
  readonly error: string | null;
}

const UNTESTED = { latency_ms: null, dimensions: null, norm: null, tokens: null };

/** Test each model with one real, unmetered call. The texts are unique, so that no cache answers. */
export async function* testModels(
  embedder: Embedder,
  backends: Backends,
  models: readonly Model[],
  options: { orgId: string; signal: AbortSignal },
): AsyncGenerator<ModelTest> {
  for (const model of models) {
    options.signal.throwIfAborted();
    yield backends.isAvailable(model)
      ? await testModel(embedder, model, options)
      : { ...UNTESTED, model: model.id, status: 'not configured', error: null };
  }
}

async function testModel(
  embedder: Embedder,
  model: Model,
  { orgId, signal }: { orgId: string; signal: AbortSignal },
): Promise<ModelTest> {
  const beganMs = performance.now();
  try {
    const texts = [`A trial of ${model.id} at ${new Date().toISOString()}`];
    const { vectors, dimensions, tokens } = await embedder.embed({
      texts,
      model: model.id,
      taskType: 'retrieval_query',
      orgId,
      charge: null,
      exactly: true,
      signal,
    });
    let squares = 0;
    for (const value of vectors) squares += value * value;
    const latency = Math.round((performance.now() - beganMs) * 10) / 10;
    const norm = Math.round(Math.sqrt(squares) * 1e6) / 1e6;
    return { model: model.id, status: 'ok', latency_ms: latency, dimensions, norm, tokens, error: null };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ...UNTESTED, model: model.id, status: 'failed', error: describe(error) };
  }
}

/** Test a reranker on this host. It must score the relevant text highest. */
export async function testReranker(
  localModels: Pick<LocalModels, 'score'>,
  name: string,
  signal: AbortSignal,
): Promise<ModelTest> {
  const beganMs = performance.now();
  try {
    await localModels.score(name, 'Where does the ferry go?', ['The ferry goes to the island.', 'It rains.'], signal);
    const latency = Math.round((performance.now() - beganMs) * 10) / 10;
    return { ...UNTESTED, model: name, status: 'ok', latency_ms: latency, error: null };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { ...UNTESTED, model: name, status: 'failed', error: describe(error) };
  }
}

/** Describe an error with the vendor's own message, which only the operator sees. */
function describe(error: AppError): string {
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}
