import { z } from 'zod';
import type { Caller } from '../../src/access/caller.ts';
import { UsageByBucket } from '../../src/appliance/overview/usage-by-bucket-store.ts';
import { invalidRequest } from '../../src/platform/errors.ts';
import { USAGE_GROUPS, UsageByKey, type UsageGroup, UsageList } from '../../src/usage/list-usage.ts';
import type { Usage } from '../../src/usage/open-usage.ts';
import { UsageSummary } from '../../src/usage/schema.ts';
import { defineRoute, type Route } from '../route.ts';
import { STALE_HEADERS, staleReply } from '../stale-reply.ts';

const Moment = z
  .string()
  .max(40)
  .meta({ anyOf: [{ format: 'date' }, { format: 'date-time' }] });
const Period = z.object({
  from: Moment.optional().describe('start of the period, ISO 8601; default: start of this month'),
  to: Moment.optional().describe('first moment after the period, ISO 8601; default: end of this month'),
});

type ListByBucket = (caller: Caller, period: z.output<typeof Period>, signal: AbortSignal) => Promise<UsageByBucket>;

export type Summarize = (
  account: Pick<Caller, 'orgId' | 'plan'>,
  period: z.output<typeof Period>,
  signal?: AbortSignal,
) => Promise<UsageSummary>;

const ListQuery = Period.extend({
  by: z
    .string()
    .max(100)
    .default('day')
    .describe(`list of ${USAGE_GROUPS.join(', ')}, separated by commas`)
    .transform((list): UsageGroup[] => list.split(',').map(toGroup)),
});

function toGroup(name: string): UsageGroup {
  const group = USAGE_GROUPS.find((each) => each === name.trim());
  if (group === undefined) throw invalidRequest(`by: use ${USAGE_GROUPS.join(', ')}`, 'by');
  return group;
}

export function usageRoutes({
  summarize,
  list,
  listByKey,
  listByBucket,
}: Pick<Usage, 'list' | 'listByKey'> & { summarize: Summarize; listByBucket: ListByBucket }): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/usage',
      operationId: 'listUsage',
      summary: 'Usage of the organization, summed by the requested fields: day, axis and model',
      access: 'caller',
      errors: 'embedding',
      query: ListQuery,
      responses: { 200: { description: 'The sums', schema: UsageList, headers: STALE_HEADERS } },
      handle: async ({ caller, query, signal }) => staleReply(await list(caller.orgId, query, signal)),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/usage/keys',
      operationId: 'listUsageByKey',
      summary: 'Usage by key and user; without keys:manage only that of the caller',
      access: 'caller',
      errors: 'embedding',
      query: Period,
      responses: { 200: { description: 'The sums', schema: UsageByKey, headers: STALE_HEADERS } },
      handle: async ({ caller, query, signal }) => staleReply(await listByKey(caller, query, signal)),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/usage/buckets',
      operationId: 'listUsageByBucket',
      summary: 'Searches, documents and bytes of the organization by bucket',
      access: 'caller',
      errors: 'embedding',
      query: Period,
      responses: { 200: { description: 'The sums', schema: UsageByBucket } },
      handle: async ({ caller, query, signal }) => ({ body: await listByBucket(caller, query, signal) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/usage/summary',
      operationId: 'getUsageSummary',
      summary: 'Usage of the organization by axis, model and day, and its remaining quotas',
      access: 'caller',
      errors: 'embedding',
      query: Period,
      responses: { 200: { description: 'The summary', schema: UsageSummary } },
      handle: async ({ caller, query, signal }) => ({ body: await summarize(caller, query, signal) }),
    }),
  ];
}
