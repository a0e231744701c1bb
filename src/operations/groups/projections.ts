import { z } from 'zod';
import { activate as activateMap, findMap, listMaps, retire as retireMap } from '../../projection/manage-maps.ts';
import { viewOfMap } from '../../projection/schema.ts';
import { listPage } from '../list-page.ts';
import { forInstallation } from '../operation.ts';

const Version = z.object({ version: z.int().min(1) });

export const list = forInstallation(z.object({ model: z.string().optional() }), async ({ model }, { appliance }) =>
  listPage(await listMaps(appliance.sql, model === undefined ? {} : { model })),
);

export const show = forInstallation(Version, async ({ version }, { appliance }) => {
  const map = await findMap(appliance.sql, version);
  return { ...viewOfMap(map), scores: map.scores };
});

export const activate = forInstallation(
  Version,
  ({ version }, { appliance, actor }) => activateMap({ ...appliance.calibration, actor }, version),
  ['calibration'],
);

export const retire = forInstallation(Version, ({ version }, { appliance: { sql, objects }, actor }) =>
  retireMap({ sql, objects, actor }, version),
);
