import { writeFile } from 'node:fs/promises';
import type { Appliance } from '../appliance/appliance.ts';
import { AppError } from '../platform/errors.ts';
import { evaluateProjection } from '../projection/evaluate-projection.ts';
import { evaluateRetrieval, type RetrievalScores, textsToEmbed } from '../projection/evaluate-retrieval.ts';
import type { Evaluation } from '../projection/fit/evaluate-map.ts';
import { renderReport } from '../projection/fit/report-html.ts';
import { type MapRecord, type MapView, SPACE_ID, type SpaceRecord, viewOfMap } from '../projection/schema.ts';
import { selectActiveMaps, selectSpace } from '../projection/store.ts';
import { readJudgedCollection } from './judged-collection.ts';
import { openProgress } from './progress.ts';
import { refuseExisting } from './save-file.ts';

export interface MapEvaluation {
  readonly map: MapView;
  readonly reference_model: string;
  readonly evaluation: Evaluation;
  /** Scores on the judged collection; null if none was given. */
  readonly retrieval: readonly RetrievalScores[] | null;
}

/** Evaluate the maps in use, or that of one model. @throws AppError `map_not_found` (404) if no map is in use */
export async function evaluateMaps(
  appliance: Appliance,
  options: {
    model?: string | undefined;
    files: { docs: string; queries: string; qrels: string } | null;
    signal: AbortSignal;
  },
): Promise<MapEvaluation[]> {
  const active = await selectActiveMaps(appliance.sql);
  const maps = options.model === undefined ? active : active.filter(({ model }) => model === options.model);
  if (maps.length === 0) throw noMap(options.model);
  const space = await selectSpace(appliance.sql, SPACE_ID);
  const results: MapEvaluation[] = [];
  for (const record of maps) {
    const evaluation = await evaluateProjection(appliance, record, options.signal);
    const retrieval = options.files ? await evaluateOn(appliance, record, space, options.files, options.signal) : null;
    results.push({ map: viewOfMap(record), reference_model: space?.referenceModel ?? '', evaluation, retrieval });
  }
  return results;
}

function noMap(model: string | undefined): AppError {
  const where = model === undefined ? '' : ` for ${model}`;
  const fit = `service projections fit${model === undefined ? '' : ` --model ${model}`}`;
  return new AppError({
    code: 'map_not_found',
    status: 404,
    message: `no map is in use${where}; fit one with "${fit}"`,
  });
}

async function evaluateOn(
  { calibration, projections }: Appliance,
  record: MapRecord,
  space: SpaceRecord | null,
  files: { docs: string; queries: string; qrels: string },
  signal: AbortSignal,
): Promise<RetrievalScores[]> {
  const collection = await readJudgedCollection(files);
  const model = calibration.findModel(record.model);
  const reference = calibration.findModel(space?.referenceModel ?? record.model);
  const progress = await openProgress();
  try {
    progress.begin(`embedding for ${record.model}`, textsToEmbed(collection));
    return await evaluateRetrieval({ embed: calibration.embed, projections }, { model, reference }, collection, {
      signal,
      onProgress: (embedded) => progress.update(embedded),
    });
  } finally {
    progress.close();
  }
}

/** Write one page per map. If there are several, add the map's version to the file names. */
export async function writeReport(file: string, evaluations: readonly MapEvaluation[], force: boolean): Promise<void> {
  for (const { map, reference_model: referenceModel, evaluation } of evaluations) {
    const named = evaluations.length === 1 ? file : file.replace(/(\.html?)?$/i, `-${map.version}$1`);
    refuseExisting(named, force);
    const page = renderReport({
      model: map.model,
      referenceModel,
      space: map.space,
      mapVersion: map.version,
      method: map.method,
      pairs: map.pairs,
      createdAt: new Date(map.created_at),
      evaluation,
      warnings: [],
    });
    await writeFile(named, page);
  }
}
