import { z } from 'zod';
import { forOrganization } from '../operation.ts';

const Period = z.object({ from: z.string().optional(), to: z.string().optional() });

export const summarize = forOrganization(
  Period,
  (period, { appliance, operator }) => appliance.usage.summarize(operator, period),
  ['usage'],
);

/** Sum the usage by key and user. */
export const byKey = forOrganization(
  Period,
  async (period, { appliance, operator, signal }) => (await appliance.usage.listByKey(operator, period, signal)).value,
  ['usage'],
);
