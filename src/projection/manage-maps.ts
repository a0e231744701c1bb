import { recordAudit } from '../access/audit.ts';
import type { Model } from '../models/catalog.ts';
import { AppError, conflict } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { readMap } from './artifacts.ts';
import { type MapDetails, type MapRecord, type MapView, viewOfMap } from './schema.ts';
import { activateMap, retireMap, selectMap, selectMaps } from './store.ts';

interface ManageContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly findModel: (id: string) => Model;
  /** Caller's name in the audit log. */
  readonly actor: string;
}

/** List all fitted maps, newest first. */
export async function listMaps(sql: Sql, options: { model?: string } = {}): Promise<MapView[]> {
  return (await selectMaps(sql, options)).map(viewOfMap);
}

/** List all fitted maps with their evaluations, newest first. */
export async function listMapDetails(sql: Sql): Promise<MapDetails[]> {
  return (await selectMaps(sql)).map((map) => ({ ...viewOfMap(map), scores: map.scores }));
}

/** @throws AppError `map_not_found` (404) */
export async function findMap(sql: Sql, version: number): Promise<MapRecord> {
  const map = await selectMap(sql, version);
  if (map) return map;
  throw new AppError({
    code: 'map_not_found',
    status: 404,
    message: `there is no map ${version}; run "service projections list" to see the maps`,
  });
}

/**
 * Activate a fitted map in place of the model's active one. Every running process uses it within 30 s.
 *
 * @throws AppError `map_not_found` (404), `map_retired`, `revision_differs` (409), `artifact_corrupt` (500); the active
 *   map then stays
 */
export async function activate(context: ManageContext, version: number): Promise<MapView> {
  const map = await findMap(context.sql, version);
  if (map.status === 'retired') throw conflict(`map ${version} is retired; fit ${map.model} again`, 'map_retired');
  const model = context.findModel(map.model);
  if (model.revision !== map.modelRevision || model.nativeDimension !== map.nativeDimension) {
    throw conflict(
      `map ${version} was fitted for revision ${map.modelRevision} of ${map.model} with ${map.nativeDimension} dimensions; the catalog has revision ${model.revision} with ${model.nativeDimension}; fit it again`,
      'revision_differs',
    );
  }
  await readMap(context.objects, map);
  await inTransaction(context.sql, async (tx) => {
    if (!(await activateMap(tx, map)))
      throw conflict(`map ${version} was retired meanwhile; fit ${map.model} again`, 'map_retired');
    await recordAudit(tx, {
      orgId: null,
      actor: context.actor,
      action: 'projection.activate',
      target: String(version),
    });
  });
  return viewOfMap(await findMap(context.sql, version));
}

/**
 * Retire a map permanently. Its model's vectors become native again, and are not comparable with canonical ones.
 *
 * @throws AppError `map_not_found` (404)
 */
export async function retire(context: Omit<ManageContext, 'findModel'>, version: number): Promise<MapView> {
  const map = await findMap(context.sql, version);
  await inTransaction(context.sql, async (tx) => {
    await retireMap(tx, map);
    await recordAudit(tx, { orgId: null, actor: context.actor, action: 'projection.retire', target: String(version) });
  });
  return viewOfMap(await findMap(context.sql, version));
}
