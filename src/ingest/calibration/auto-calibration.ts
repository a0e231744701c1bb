import type { Backends } from '../../embedding/backends.ts';
import type { Config } from '../../platform/config.ts';
import { AppError } from '../../platform/errors.ts';
import type { Service } from '../../platform/lifecycle.ts';
import type { Sql } from '../../platform/postgres.ts';
import { withAdvisoryLock } from '../../platform/postgres.ts';
import { repeatingTask } from '../../platform/repeating-task.ts';
import { openThreads } from '../../platform/threads.ts';
import { type AutoCalibrationContext, calibrateModels, selectDue } from '../../projection/auto/calibrate-models.ts';
import type { ProjectionContext } from '../../projection/fit-projection.ts';
import type { Projections } from '../../projection/projections.ts';
import type { ReembedJobs } from '../reindex/reembed-job.ts';
import { sampleChunks } from '../sample-chunks.ts';
import { listModelsInUse, recordUsedModels } from './models-in-use.ts';
import { moveNativeBuckets } from './move-buckets.ts';
import { selectSearchableBuckets } from './store.ts';

const EVERY_MS = 5_000;
const LOCK = 'auto-calibration';
/** Number of buckets to sample texts from. */
const SAMPLED_BUCKETS = 50;

export interface AutoCalibrationParts {
  readonly config: Pick<Config, 'projections'>;
  /** Direct connection for the lock. */
  readonly direct: Sql;
  readonly backends: Backends;
  readonly calibration: ProjectionContext;
  readonly projections: Projections & { refresh(): Promise<void> };
  readonly reembed: ReembedJobs;
}

/**
 * Create the service that calibrates the models in use and moves buckets into the canonical space. Only one process of
 * the installation does so at a time. Only `service serve` runs this service.
 */
export function autoCalibration(parts: AutoCalibrationParts): Service {
  const { config, direct, backends, calibration, projections, reembed } = parts;
  const { sql, objects, logger } = calibration;
  const settings = config.projections.autoCalibration;
  // Fitting occupies a thread for up to minutes. A separate pool keeps threads free for requests and jobs.
  const threads = openThreads();
  const context: AutoCalibrationContext = {
    ...calibration,
    settings,
    threads,
    embed: (call) => calibration.embed({ ...call, isBackground: true }),
    isServed: (model) => backends.isAvailable(model),
    refresh: () => projections.refresh(),
    sampleTexts: (max) => sampleTexts({ sql, objects }, max),
  };
  const told = new Set<string>();
  const findDue = async () => selectDue(context, await listModelsInUse(sql, backends));
  const calibrate = async (signal: AbortSignal) => {
    await recordUsedModels(sql, backends);
    if ((await findDue()).length > 0) {
      await withAdvisoryLock(
        direct,
        LOCK,
        // Another process may have calibrated these models while this one waited.
        async (_stillHeld, lost) => calibrateModels(context, await findDue(), AbortSignal.any([signal, lost])),
        { signal },
      );
    }
    await moveNativeBuckets(reembed, told);
  };
  const task = repeatingTask('calibration', EVERY_MS, logger, calibrate);
  return {
    name: task.name,
    start: async (signal) => (settings.enabled ? task.start(signal) : undefined),
    async stop() {
      await task.stop();
      await threads.close();
    },
  };
}

/** Sample chunk texts evenly from several buckets. */
async function sampleTexts(stores: Parameters<typeof sampleChunks>[0], max: number): Promise<string[]> {
  const buckets = await selectSearchableBuckets(stores.sql, SAMPLED_BUCKETS);
  const share = Math.ceil(max / Math.max(1, buckets.length));
  const texts = new Set<string>();
  for (const { orgId, bucketId } of buckets) {
    const sample = await sampleChunks(stores, orgId, bucketId, share).catch((error: unknown) => {
      // A document and its chunks may be deleted at any time.
      if (error instanceof AppError && !error.retryable) return [];
      throw error;
    });
    for (const text of sample) texts.add(text);
  }
  return [...texts].slice(0, max);
}
