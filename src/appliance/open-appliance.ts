import { indexDirectory } from '../index/lance/open-tables.ts';
import { ballastChore } from '../platform/ballast.ts';
import { choreService } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import { statisticsChore } from '../platform/table-statistics.ts';
import type { Appliance, PartName } from './appliance.ts';
import { readinessCheck } from './check-ready.ts';
import {
  closeAfterFailure,
  type Installation,
  type InstallationOptions,
  openInstallation,
} from './open-installation.ts';
import { PART_OPENERS } from './part-openers.ts';

const HOUSEKEEPING_MS = 60_000;
const ALL_PARTS = Object.keys(PART_OPENERS) as PartName[];

/**
 * Open an installation with all its parts.
 *
 * @throws AppError `postgres_unavailable` (503), `database_too_new`, `config_invalid`, and errors of each `open…`
 */
export async function openAppliance(config: Config, options: InstallationOptions): Promise<Appliance> {
  const installation = await openInstallation(config, options);
  try {
    return await completeAppliance(installation);
  } catch (error) {
    await closeAfterFailure(installation, options.logger);
    throw error;
  }
}

/** Open all parts of an open installation. @throws what each `open…` throws */
export async function completeAppliance(installation: Installation): Promise<Appliance> {
  const parts = await installation.open(ALL_PARTS);
  const {
    jobs,
    documents,
    insight,
    search,
    access,
    usage,
    bulk,
    files,
    batches,
    calibration,
    ingest,
    vectorStores,
    answers,
    backup,
    channels,
    webhooks,
    memory,
    workflows,
  } = parts;
  const { config, logger } = parts;
  const stored = [jobs, documents, insight, search, access, bulk, files, batches, calibration, ingest, backup];
  const ballast = ballastChore({ dataDir: config.dataDir, bytes: config.ballastBytes }, logger);
  const chores = ({ everyMs = HOUSEKEEPING_MS } = {}) => [
    ...[...stored, usage, vectorStores, answers, channels, webhooks, memory, workflows].flatMap((part) =>
      part.chores(everyMs),
    ),
    ballast,
    statisticsChore(parts.sql),
  ];
  return {
    ...parts,
    chores,
    reaper: (interval = {}) => choreService('reaper', chores(interval), logger),
    checkReady: readinessCheck({
      ...parts,
      chunks: search.chunks,
      milvus: search.milvus,
      indexDirectory: config.index.storage === 's3' ? null : indexDirectory(config),
    }),
    close: () => installation.close(),
  };
}
