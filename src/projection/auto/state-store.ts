import type { Model } from '../../models/catalog.ts';
import type { Sql } from '../../platform/postgres.ts';

/** State of automatic calibration, for a model without an active map or with a stale one. */
export interface CalibrationState {
  readonly model: string;
  readonly revision: string;
  readonly nativeDimension: number;
  /**
   * `wanted`: the model was used for the first time. `calibrating`: its texts are being embedded or its map fitted.
   * `apart`: its map failed the quality gate. `failed`: its provider didn't respond, or the fit was refused.
   */
  readonly state: 'wanted' | 'calibrating' | 'apart' | 'failed';
  readonly textsDone: number;
  readonly textsTotal: number;
  /** Held-out score of the map that failed the gate. */
  readonly score: number | null;
  readonly reason: string | null;
  readonly retryAt: Date | null;
}

export async function selectCalibrationStates(sql: Sql): Promise<CalibrationState[]> {
  return sql<CalibrationState[]>`
    SELECT model, revision, native_dimension AS "nativeDimension", state, texts_done AS "textsDone",
           texts_total AS "textsTotal", score, reason, retry_at AS "retryAt"
    FROM model_calibrations ORDER BY model LIMIT 1000`;
}

type Version = Pick<Model, 'id' | 'revision' | 'nativeDimension'>;

/** Record the use of a model, so that it gets calibrated. Keep any existing state. */
export async function insertWanted(sql: Sql, { id, revision, nativeDimension }: Version): Promise<void> {
  await sql`
    INSERT INTO model_calibrations (model, revision, native_dimension, state)
    VALUES (${id}, ${revision}, ${nativeDimension}, 'wanted') ON CONFLICT (model) DO NOTHING`;
}

/** Record an operator's request to calibrate a model now, even after a failure. A calibration in progress continues. */
export async function markWanted(sql: Sql, { id, revision, nativeDimension }: Version): Promise<void> {
  await sql`
    INSERT INTO model_calibrations (model, revision, native_dimension, state)
    VALUES (${id}, ${revision}, ${nativeDimension}, 'wanted')
    ON CONFLICT (model) DO UPDATE SET state = 'wanted', revision = ${revision}, native_dimension = ${nativeDimension},
      texts_done = 0, texts_total = 0, score = NULL, reason = NULL, retry_at = NULL, attempts = 0, updated_at = now()
    WHERE model_calibrations.state <> 'calibrating'`;
}

/** Record the start of a calibration. Keep the number of failed attempts for the same version of the model. */
export async function recordStart(sql: Sql, model: Version, textsTotal: number): Promise<void> {
  const { id, revision, nativeDimension } = model;
  await sql`
    INSERT INTO model_calibrations (model, revision, native_dimension, state, texts_total)
    VALUES (${id}, ${revision}, ${nativeDimension}, 'calibrating', ${textsTotal})
    ON CONFLICT (model) DO UPDATE SET state = 'calibrating', texts_done = 0, texts_total = ${textsTotal}, score = NULL,
      attempts = CASE WHEN model_calibrations.revision = ${revision} THEN model_calibrations.attempts ELSE 0 END,
      revision = ${revision}, native_dimension = ${nativeDimension}, reason = NULL, retry_at = NULL, updated_at = now()`;
}

export async function recordProgress(sql: Sql, modelId: string, textsDone: number): Promise<void> {
  await sql`
    UPDATE model_calibrations SET texts_done = greatest(texts_done, ${textsDone}), updated_at = now()
    WHERE model = ${modelId} AND state = 'calibrating'`;
}

/** Record a map that failed the quality gate. */
export async function recordApart(sql: Sql, modelId: string, score: number, retryMs: number): Promise<void> {
  await sql`
    UPDATE model_calibrations SET state = 'apart', score = ${score}, attempts = 0, updated_at = now(),
      reason = 'the held-out score is too low', retry_at = now() + ${retryMs} * interval '1 millisecond'
    WHERE model = ${modelId}`;
}

/** Record a failed attempt. The pause before the next attempt doubles, from `firstMs` up to `maxMs`. */
export async function recordFailure(
  sql: Sql,
  model: Version,
  reason: string,
  { firstMs, maxMs }: { firstMs: number; maxMs: number },
): Promise<void> {
  const { id, revision, nativeDimension } = model;
  const pause = sql`least(${firstMs} * power(2, least(model_calibrations.attempts, 20)), ${maxMs}) * interval '1 millisecond'`;
  await sql`
    INSERT INTO model_calibrations (model, revision, native_dimension, state, attempts, reason, retry_at)
    VALUES (${id}, ${revision}, ${nativeDimension}, 'failed', 1, ${reason}, now() + ${firstMs} * interval '1 millisecond')
    ON CONFLICT (model) DO UPDATE SET state = 'failed', reason = ${reason}, retry_at = now() + ${pause},
      attempts = model_calibrations.attempts + 1, updated_at = now()`;
}

/** Delete the state of a model that has its map now. */
export async function deleteCalibrationState(sql: Sql, modelId: string): Promise<void> {
  await sql`DELETE FROM model_calibrations WHERE model = ${modelId}`;
}

/** Fields of each model's newest map that decide whether calibration is due. */
export interface NewestMap {
  readonly model: string;
  readonly revision: string;
  readonly nativeDimension: number;
  readonly status: 'inactive' | 'active' | 'retired';
  readonly isStale: boolean;
}

/** Select each model's active map, or its newest one if none is active. */
export async function selectNewestMaps(sql: Sql): Promise<NewestMap[]> {
  return sql<NewestMap[]>`
    SELECT DISTINCT ON (model) model, model_revision AS revision, native_dimension AS "nativeDimension", status,
           stale_at IS NOT NULL AS "isStale"
    FROM projection_maps ORDER BY model, (status = 'active') DESC, version DESC`;
}
