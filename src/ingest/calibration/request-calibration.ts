import { z } from 'zod';
import { recordAudit } from '../../access/audit.ts';
import type { Backends } from '../../embedding/backends.ts';
import { conflict } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres.ts';
import { markWanted, selectCalibrationStates, selectNewestMaps } from '../../projection/auto/state-store.ts';

/** Calibration of a model that is waiting, in progress, or unsuccessful. */
export const CalibrationView = z
  .object({
    model: z.string(),
    state: z
      .enum(['wanted', 'calibrating', 'apart', 'failed'])
      .describe('apart: the map did not pass the quality gate; failed: the vendor failed, and the service tries again'),
    texts_done: z.int().describe('calibration texts that the model has embedded'),
    texts_total: z.int().describe('0 until the calibration starts'),
    score: z.number().nullable().describe('held-out score of a map that did not pass the quality gate'),
    reason: z.string().nullable(),
    retry_at: z.iso.datetime().nullable(),
  })
  .meta({ id: 'Calibration' });
export type CalibrationView = z.output<typeof CalibrationView>;

export interface CalibrationRequests {
  readonly sql: Sql;
  readonly backends: Backends;
  /** False if the settings disable calibration. */
  readonly isOn: boolean;
}

/** List the models whose calibration is waiting, in progress, or unsuccessful. */
export async function listCalibrations(sql: Sql): Promise<CalibrationView[]> {
  return (await selectCalibrationStates(sql)).map(
    ({ model, state, textsDone, textsTotal, score, reason, retryAt }) => ({
      model,
      state,
      texts_done: textsDone,
      texts_total: textsTotal,
      score,
      reason,
      retry_at: retryAt?.toISOString() ?? null,
    }),
  );
}

/**
 * Request the calibration of a model without an active map. The calibrating process starts within seconds.
 *
 * @throws AppError `unknown_model` (400), `provider_unavailable` (502); `calibration_off`, `not_semantic`,
 *   `already_calibrated`, `nothing_to_compare`, `map_retired` (409)
 */
export async function requestCalibration(
  { sql, backends, isOn }: CalibrationRequests,
  actor: string,
  modelId: string,
): Promise<void> {
  const model = backends.catalog.find(modelId);
  const { id, kind } = model;
  if (!isOn) throw conflict('calibration is off; set projections.auto in service.yaml', 'calibration_off');
  if (kind !== 'semantic') throw conflict(`${id} needs no map; name a model that embeds by meaning`, 'not_semantic');
  backends.requireProviders(model);
  if (backends.isCalibrated(model)) throw conflict(`${id} is calibrated already`, 'already_calibrated');
  if (backends.needsNoMap(model)) {
    throw conflict(`${id} is the only model that embeds by meaning, so it needs no map`, 'nothing_to_compare');
  }
  const newest = (await selectNewestMaps(sql)).find((map) => map.model === id && map.revision === model.revision);
  if (newest?.status === 'retired') {
    throw conflict(`the map of ${id} was retired; to use it again, run "service projections activate"`, 'map_retired');
  }
  await sql.begin(async (tx) => {
    await markWanted(tx, model);
    await recordAudit(tx, { orgId: null, actor, action: 'model.calibrate', target: id, detail: {} });
  });
}
