import type { Sql } from '../platform/postgres.ts';
import type { MapRecord, SpaceRecord } from './schema.ts';

/** Read a space. Return null if no reference model has been fitted yet. */
export async function selectSpace(sql: Sql, id: string): Promise<SpaceRecord | null> {
  const [row] = await sql<SpaceRecord[]>`
    SELECT id, dimensions, reference_model AS "referenceModel", reference_revision AS "referenceRevision", pairs,
           object_key AS "objectKey", sha256
    FROM projection_spaces WHERE id = ${id}`;
  return row ?? null;
}

/** Insert a space. Return false if the id exists, since a space is never refitted. */
export async function insertSpace(sql: Sql, space: SpaceRecord): Promise<boolean> {
  const rows = await sql`
    INSERT INTO projection_spaces (id, dimensions, reference_model, reference_revision, pairs, object_key, sha256)
    VALUES (${space.id}, ${space.dimensions}, ${space.referenceModel}, ${space.referenceRevision}, ${space.pairs},
      ${space.objectKey}, ${space.sha256})
    ON CONFLICT (id) DO NOTHING RETURNING id`;
  return rows.length > 0;
}

export async function nextMapVersion(sql: Sql): Promise<number> {
  const [row] = await sql<{ version: string }[]>`SELECT nextval('projection_versions') AS version`;
  return Number(row?.version);
}

export type NewMap = Omit<MapRecord, 'status' | 'staleAt' | 'checkedAt' | 'createdAt'>;

export async function insertMap(sql: Sql, map: NewMap): Promise<void> {
  await sql`
    INSERT INTO projection_maps (version, space_id, model, model_revision, method, native_dimension, rank, pairs,
      score, scores, grade, status, object_key, sha256, created_by)
    VALUES (${map.version}, ${map.spaceId}, ${map.model}, ${map.modelRevision}, ${map.method}, ${map.nativeDimension},
      ${map.rank}, ${map.pairs}, ${map.score}, ${JSON.stringify(map.scores)}::text::jsonb, ${map.grade}, 'inactive',
      ${map.objectKey}, ${map.sha256}, ${map.createdBy})`;
}

const columns = (sql: Sql) => sql`
  version, space_id AS "spaceId", model, model_revision AS "modelRevision", method,
  native_dimension AS "nativeDimension", rank, pairs, score, scores, grade, status, stale_at AS "staleAt",
  checked_at AS "checkedAt", object_key AS "objectKey", sha256, created_by AS "createdBy", created_at AS "createdAt"`;

export async function selectMaps(sql: Sql, options: { model?: string } = {}): Promise<MapRecord[]> {
  return sql<MapRecord[]>`
    SELECT ${columns(sql)} FROM projection_maps
    WHERE ${options.model ?? null}::text IS NULL OR model = ${options.model ?? null}
    ORDER BY version DESC LIMIT 1000`;
}

export async function selectMap(sql: Sql, version: number): Promise<MapRecord | null> {
  const [row] = await sql<MapRecord[]>`SELECT ${columns(sql)} FROM projection_maps WHERE version = ${version}`;
  return row ?? null;
}

export async function selectActiveMaps(sql: Sql): Promise<MapRecord[]> {
  return sql<MapRecord[]>`SELECT ${columns(sql)} FROM projection_maps WHERE status = 'active'`;
}

/**
 * Activate a map and deactivate the model's active one, within a transaction. A lock serialises map changes of a model.
 *
 * @returns false if the map is retired
 */
export async function activateMap(tx: Sql, map: Pick<MapRecord, 'version' | 'model'>): Promise<boolean> {
  await lockMaps(tx, map.model);
  await tx`
    UPDATE projection_maps SET status = 'inactive'
    WHERE model = ${map.model} AND status = 'active' AND version <> ${map.version}`;
  const rows = await tx`
    UPDATE projection_maps SET status = 'active', stale_at = NULL
    WHERE version = ${map.version} AND status <> 'retired' RETURNING 1`;
  return rows.length === 1;
}

async function lockMaps(tx: Sql, model: string): Promise<void> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`projection of ${model}`}, 0))`;
}

export async function retireMap(tx: Sql, { version, model }: Pick<MapRecord, 'version' | 'model'>): Promise<void> {
  await lockMaps(tx, model);
  await tx`UPDATE projection_maps SET status = 'retired' WHERE version = ${version}`;
}

/** Record the result of a canary comparison. */
export async function recordCanaries(sql: Sql, version: number, isStale: boolean): Promise<void> {
  await sql`
    UPDATE projection_maps
    SET checked_at = now(), stale_at = CASE WHEN ${isStale} THEN coalesce(stale_at, now()) END
    WHERE version = ${version}`;
}
