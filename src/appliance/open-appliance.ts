import { openAccess } from '../access/open-access.ts';
import { openBackup } from '../backup/open-backup.ts';
import { openBulk } from '../bulk/open-bulk.ts';
import { openChannels } from '../channels/open-channels.ts';
import { createDefaultBucket, openDocuments } from '../documents/open-documents.ts';
import { jobVisibleTo } from '../documents/visibility.ts';
import { openEmbedding } from '../embedding/open-embedding.ts';
import { openIngest } from '../ingest/open-ingest.ts';
import { openJobs } from '../jobs/open-jobs.ts';
import { openLocalModels } from '../local-models/open-local-models.ts';
import { openMemory } from '../memory/open-memory.ts';
import { openMetadata } from '../metadata/open-metadata.ts';
import { ballastChore } from '../platform/ballast.ts';
import { choreService } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import { openCalibration } from '../projection/open-calibration.ts';
import { openProjections } from '../projection/open-projections.ts';
import { openRecognition } from '../recognition/open-recognition.ts';
import { openSearch } from '../search/open-search.ts';
import { openUsage } from '../usage/open-usage.ts';
import { eraseRunsAbout, openWorkflows } from '../workflows/open-workflows.ts';
import type { Appliance } from './appliance.ts';
import { readinessCheck } from './check-ready.ts';
import { claimStorage } from './claim-storage.ts';
import type { DatabaseTargets } from './find-database.ts';
import { OpenParts } from './open-parts.ts';
import { MIGRATIONS, openStores } from './stores.ts';

const HOUSEKEEPING_MS = 60_000;

/**
 * Open an installation: its stores, then every domain from bottom to top with its dependencies. No other function knows
 * all domains; a new domain adds one line here.
 *
 * @param options.poolMax maximum number of connections to PostgreSQL; a command needs few
 * @param options.database result of `findDatabase`, if that was called while this module was loaded
 * @throws AppError `postgres_unavailable` (503), `database_too_new`, `config_invalid`, and those of each `open…`
 */
export async function openAppliance(
  config: Config,
  options: { readonly logger: Logger; readonly poolMax?: number; readonly database?: Promise<DatabaseTargets> },
): Promise<Appliance> {
  const { logger } = options;
  const opened = new OpenParts();
  try {
    const stores = await openStores(config, options, opened);
    const base = { ...stores, config };
    const access = await openAccess({ ...base, createDefaultBucket });
    await claimStorage(config, stores.objects, access.installationId);
    const usage = opened.add(await openUsage(base));
    const projections = opened.add(await openProjections(base));
    const recognition = opened.add(openRecognition(base));
    const localModels = opened.add(await openLocalModels(base));
    const embedding = opened.add(openEmbedding({ ...base, projections, localModels, meter: usage.meter }));
    const { embedder } = embedding;
    const calibration = openCalibration({ ...base, embedding });
    const search = opened.add(openSearch({ ...base, embedding, localModels }));
    const documents = openDocuments({ ...base, index: search.removal, erase: eraseRunsAbout });
    const bulk = openBulk({ ...base, embedder });
    const pictures = recognition.documents;
    const ingest = opened.add(
      openIngest({ ...base, embedding, calibration, projections, localModels, pictures, search }),
    );
    const metadata = openMetadata({ ...base, removal: documents.removal });
    const channels = opened.add(openChannels({ ...base, search }));
    const { sending } = channels;
    const { uploads } = ingest;
    const memory = openMemory({ ...base, search });
    const workflows = openWorkflows({ ...base, search, embedder, uploads, metadata, sending });
    const kinds = [...ingest.jobs, bulk.jobs, metadata.jobs, memory.jobs];
    const jobs = openJobs({ ...base, visibleTo: jobVisibleTo }, kinds);
    const { installationId } = access;
    const backup = openBackup({ ...base, installationId, migrations: MIGRATIONS });
    const parts = {
      access,
      usage,
      projections,
      calibration,
      recognition,
      localModels,
      embedding,
      search,
      documents,
      bulk,
      ingest,
    };
    const stored = [jobs, documents, search, access, bulk, calibration, ingest, backup];
    const partsWithChores = [...stored, channels, memory, workflows];
    const ballast = ballastChore({ dataDir: config.dataDir, bytes: config.ballastBytes }, logger);
    const chores = ({ everyMs = HOUSEKEEPING_MS } = {}) => [
      ...partsWithChores.flatMap((part) => part.chores(everyMs)),
      ballast,
    ];
    return {
      ...{ ...base, ...parts, metadata, channels, memory, workflows, jobs, backup, chores },
      reaper: (interval = {}) => choreService('reaper', chores(interval), logger),
      checkReady: readinessCheck({ ...base, tables: search.tables }),
      close: () => opened.close(),
    };
  } catch (error) {
    await opened
      .close()
      .catch((cause) => logger.warn({ err: cause }, 'the parts that were already open could not be closed'));
    throw error;
  }
}
