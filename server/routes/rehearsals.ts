import { z } from 'zod';
import { type RehearsalContext, rehearseSwitch } from '../../src/ingest/rehearsal/rehearse-switch.ts';
import { Rehearsal, RehearsalBody } from '../../src/ingest/rehearsal/schema.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

export function rehearsalRoutes(context: RehearsalContext): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/buckets/:bucket/rehearsals',
      operationId: 'rehearseSwitch',
      summary:
        'Compare another model with the current model of a bucket on a sample of its chunks; the bucket does not change',
      access: 'buckets:manage',
      refusesUnknownFields: true,
      capacity: 'rehearsals',
      params: z.object({ bucket: z.string().min(1).describe('id or name') }),
      body: RehearsalBody,
      responses: {
        200: { description: 'What would change, or with `dry_run` what the rehearsal costs', schema: Rehearsal },
      },
      refusals: [402, 409, 502],
      handle: async ({ caller, params, body, signal }) => ({
        body: await rehearseSwitch(
          { ...context, sql: reportQueries(context.sql, signal) },
          caller,
          params.bucket,
          body,
          { signal },
        ),
      }),
    }),
  ];
}
