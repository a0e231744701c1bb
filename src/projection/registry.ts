import type { Model } from '../models/catalog.ts';
import { AppError, tryLater } from '../platform/errors.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { repeatingTask } from '../platform/repeating-task.ts';
import type { Threads } from '../platform/threads.ts';
import { readMap } from './artifacts.ts';
import { type CalibrationState, selectCalibrationStates } from './auto/state-store.ts';
import { loadMap } from './kernel/loaded-map.ts';
import { projectRows } from './kernel/project-rows.ts';
import type { ActiveMap, Projections } from './projections.ts';
import type { MapRecord } from './schema.ts';
import { selectActiveMaps } from './store.ts';

/** Refresh interval. Documentation promises that processes use a new map within 30 s. */
const REFRESH_MS = 10_000;

interface Entry {
  readonly record: MapRecord;
  readonly map: ActiveMap;
}

/** Active maps, loaded once per process and replaced while it runs. */
export interface ProjectionRegistry extends Projections {
  /** Load newly activated maps and drop retired ones. If a map can't be loaded, keep using its predecessor. */
  refresh(): Promise<void>;
  /** Service that refreshes every 10 s. */
  readonly service: Service;
}

export interface RegistryContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly threads: Threads;
  readonly logger: Logger;
}

export function openProjectionRegistry(context: RegistryContext): ProjectionRegistry {
  const { sql, logger } = context;
  let entries: ReadonlyMap<string, Entry> = new Map();
  let states: ReadonlyMap<string, CalibrationState> = new Map();
  const read = async () => {
    const next = new Map<string, Entry>();
    for (const record of await selectActiveMaps(sql)) {
      const before = entries.get(record.model);
      next.set(record.model, before?.record.version === record.version ? before : await load(context, record, before));
    }
    for (const { record } of next.values()) {
      if (entries.get(record.model)?.record.version === record.version) continue;
      logger.info({ model: record.model, map: record.version }, 'a projection is in use now');
    }
    entries = next;
    states = new Map((await selectCalibrationStates(sql)).map((state) => [state.model, state]));
  };
  // Run refreshes one at a time, so that an older read never replaces a newer one.
  let last = Promise.resolve();
  const refresh = () => {
    last = last.catch(() => undefined).then(read);
    return last;
  };
  return {
    mapOf(model: Model) {
      const entry = entries.get(model.id);
      // A map of another revision or vector length doesn't fit this model.
      if (entry?.record.modelRevision !== model.revision) return null;
      return entry.record.nativeDimension === model.nativeDimension ? entry.map : null;
    },
    stateOf({ id, revision, nativeDimension }: Model) {
      const state = states.get(id);
      return state?.revision === revision && state.nativeDimension === nativeDimension ? state : null;
    },
    refresh,
    service: repeatingTask('refresh of projections', REFRESH_MS, logger, refresh),
  };
}

async function load(
  context: { objects: Objects; threads: Threads; logger: Logger },
  record: MapRecord,
  before: Entry | undefined,
): Promise<Entry> {
  try {
    return { record, map: await loadRecord(context, record) };
  } catch (error) {
    const { model, version } = record;
    context.logger.error(
      { err: error, model, map: version },
      'a projection cannot be loaded; the previous one stays in use if there is one',
    );
    return before ?? { record: { ...record, version: -version }, map: unusable(record, error) };
  }
}

/** @throws AppError `artifact_corrupt` (500) */
async function loadRecord(context: { objects: Objects; threads: Threads }, record: MapRecord): Promise<ActiveMap> {
  const { header, packed, mean } = await readMap(context.objects, record);
  if (header.model !== record.model || header.nativeDimension !== record.nativeDimension) {
    throw new AppError({
      code: 'artifact_corrupt',
      status: 500,
      message: `the stored map ${record.version} of ${record.model} does not match its record; fit the model again`,
    });
  }
  const loaded = loadMap({ nativeDimension: header.nativeDimension, dimensions: header.rank, packed, mean });
  return {
    space: record.spaceId,
    version: record.version,
    score: record.score,
    rank: record.rank,
    project: (native, dimensions, signal) => projectRows(context.threads, loaded, native, dimensions, signal),
  };
}

/** Create a map that refuses to project. A fallback to native vectors would store ones that no search finds. */
function unusable(record: MapRecord, cause: unknown): ActiveMap {
  return {
    space: record.spaceId,
    version: record.version,
    score: record.score,
    rank: record.rank,
    project() {
      throw tryLater(
        `map ${record.version} of ${record.model} is damaged; ask the operator to fit it again, or to activate an earlier one (service projections list)`,
        'projection_unusable',
        { retryAfterSeconds: 30, cause },
      );
    },
  };
}
