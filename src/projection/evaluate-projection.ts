import type { Objects } from '../platform/objects/objects.ts';
import type { Threads } from '../platform/threads.ts';
import { readMap, readPairs } from './artifacts.ts';
import type { Evaluation } from './fit/evaluate-map.ts';
import type { EvaluateTask } from './fit-on-thread.ts';
import type { MapRecord } from './schema.ts';

/**
 * Re-evaluate a fitted map on its own pairs, without calling a provider.
 *
 * @throws AppError `artifact_corrupt` (500), and the reason of the signal
 */
export async function evaluateProjection(
  context: { objects: Objects; threads: Threads },
  record: MapRecord,
  signal: AbortSignal,
): Promise<Evaluation> {
  const { header } = await readMap(context.objects, record);
  const { vectors, canonical } = await readPairs(context.objects, record.version, header.pairsSha256);
  const task: EvaluateTask = {
    vectors,
    canonical,
    nativeDimension: record.nativeDimension,
    method: record.method,
    rank: canonical.length / (vectors.length / record.nativeDimension),
  };
  return context.threads.run(new URL('./fit-on-thread.ts', import.meta.url), 'evaluateOnThread', task, {
    signal,
    isLong: true,
  });
}
