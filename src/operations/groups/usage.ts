import { z } from 'zod';
import { forOrganization } from '../operation.ts';

export const summarize = forOrganization(
  z.object({ from: z.string().optional(), to: z.string().optional() }),
  (period, { appliance, operator }) => appliance.usage.summarize(operator, period),
  ['usage'],
);
