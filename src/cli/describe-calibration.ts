import type { Sql } from '../platform/postgres.ts';
import type { AutoCalibrationSettings } from '../platform/projection-settings.ts';
import { type CalibrationState, selectCalibrationStates } from '../projection/auto/state-store.ts';
import { selectActiveMaps } from '../projection/store.ts';

/** Describe on one line which models are calibrated, and why the others are not. */
export async function describeCalibration(sql: Sql, settings: AutoCalibrationSettings): Promise<string> {
  const maps = (await selectActiveMaps(sql)).map(
    ({ model, version, score, staleAt }) =>
      `${model}: map ${version}${score === null ? '' : `, score ${score.toFixed(3)}`}${staleAt === null ? '' : ', stale'}`,
  );
  const states = (await selectCalibrationStates(sql)).map(describeState);
  const parts = [...maps, ...states];
  const isOff = settings.enabled ? '' : ' (projections.auto is off)';
  return `${parts.length === 0 ? 'no model is calibrated' : parts.join('; ')}${isOff}`;
}

function describeState({ model, state, textsDone, textsTotal, score, reason }: CalibrationState): string {
  if (state === 'wanted') return `${model}: waits for its calibration`;
  if (state === 'calibrating') return `${model}: calibrating, ${textsDone} of ${textsTotal} texts`;
  if (state === 'apart') return `${model}: apart, score ${score?.toFixed(3) ?? 'unknown'}`;
  return `${model}: not calibrated, ${reason ?? 'its calibration failed'}`;
}
