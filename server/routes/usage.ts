import { z } from 'zod';
import { UsageSummary } from '../../src/usage/schema.ts';
import { defineRoute, type Route } from '../route.ts';
import { accountOf } from './embeddings.ts';

const Moment = z
  .string()
  .max(40)
  .meta({ anyOf: [{ format: 'date' }, { format: 'date-time' }] });
const Period = z.object({
  from: Moment.optional().describe('first moment, ISO 8601; the start of this month by default'),
  to: Moment.optional().describe('first moment after the period, ISO 8601; the end of this month by default'),
});

export type Summarize = (
  account: { orgId: string; plan: ReturnType<typeof accountOf>['plan'] },
  period: z.output<typeof Period>,
  signal?: AbortSignal,
) => Promise<UsageSummary>;

export function usageRoutes(summarize: Summarize): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/usage/summary',
      operationId: 'getUsageSummary',
      summary: 'Usage of the organization by axis, model and day, and the rest of its quotas',
      access: 'caller',
      errors: 'embedding',
      reads: 'none',
      query: Period,
      responses: { 200: { description: 'The summary', schema: UsageSummary } },
      async handle({ caller, query, signal }) {
        return { body: await summarize(accountOf(caller), query, signal) };
      },
    }),
  ];
}
