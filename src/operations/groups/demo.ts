import { z } from 'zod';
import { ensureDemoBucket, removeDemo } from '../../demo/load-demo.ts';
import { forOrganization } from '../operation.ts';

export const prepare = forOrganization(z.object({}), async (_, { appliance, operator }) => ({
  bucket_id: await ensureDemoBucket(appliance.sql, operator),
}));

export const remove = forOrganization(
  z.object({}),
  async (_, { appliance, operator, signal }) => {
    const id = await removeDemo(appliance.sql, operator);
    await appliance.documents.purgeWithText(signal);
    return { id, deleted: true };
  },
  ['documents'],
);
