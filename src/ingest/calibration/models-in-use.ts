import type { Backends } from '../../embedding/backends.ts';
import { ALIAS_ID, type Model } from '../../models/catalog.ts';
import type { Sql } from '../../platform/postgres.ts';
import { insertWanted, selectCalibrationStates } from '../../projection/auto/state-store.ts';
import { selectNamedModels } from './store.ts';

/**
 * List the models to calibrate: those used by routings, alias backends, buckets or requests. A configured vendor
 * without any of these contributes one model.
 */
export async function listModelsInUse(sql: Sql, backends: Backends): Promise<Model[]> {
  const wanted = (await selectCalibrationStates(sql)).map(({ model }) => model);
  const ids = [...(await selectNamedModels(sql)), ALIAS_ID, ...wanted];
  const inUse = new Set<Model>();
  for (const id of ids) {
    const model = backends.catalog.get(id);
    if (!model) continue;
    for (const each of model.kind === 'alias' ? backends.aliasBackends : [model]) inUse.add(each);
  }
  const vendors = new Set(['local', ...[...inUse].map(({ vendor }) => vendor)]);
  for (const model of backends.modelOfEachVendor()) if (!vendors.has(model.vendor)) inUse.add(model);
  return [...inUse].filter((model) => !backends.needsNoMap(model));
}

/** Record the models without a map that requests to this process have used since the last call. */
export async function recordUsedModels(sql: Sql, backends: Backends): Promise<void> {
  for (const model of backends.takeUncalibratedUses()) await insertWanted(sql, model);
}
