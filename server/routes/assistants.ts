import { z } from 'zod';
import { AssistantRequest, AssistantView, viewAssistant } from '../../src/answers/assistant-schema.ts';
import { createAssistant, deleteAssistant, findAssistant, listAssistants } from '../../src/answers/assistants.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { pageSchema } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({ assistant: z.string().min(1).max(200).describe('id or name') });

/** Create the routes of assistants: named ways to answer questions. */
export function assistantRoutes(sql: Sql): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/assistants',
      operationId: 'listAssistants',
      summary: 'Assistants of the organization, by name',
      access: 'search',
      responses: { 200: { description: 'Assistants', schema: pageSchema(AssistantView) } },
      async handle({ caller, signal }) {
        const all = await listAssistants(reportQueries(sql, signal), caller);
        return { body: { object: 'list', data: all.map(viewAssistant), has_more: false, next_cursor: null } };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/assistants',
      operationId: 'createAssistant',
      summary: 'Create an assistant: a name for a set of buckets, conditions and instructions',
      access: 'buckets:manage',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      refusesUnknownFields: true,
      idempotent: true,
      body: AssistantRequest,
      responses: { 201: { description: 'The assistant', schema: AssistantView } },
      refusals: [404, 409],
      handle: async ({ caller, body }) => ({
        status: 201,
        body: viewAssistant(await createAssistant(editQueries(sql), caller, body)),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/assistants/:assistant',
      operationId: 'getAssistant',
      summary: 'One assistant',
      access: 'search',
      params,
      responses: { 200: { description: 'The assistant', schema: AssistantView } },
      refusals: [404],
      handle: async ({ caller, params, signal }) => ({
        body: viewAssistant(await findAssistant(reportQueries(sql, signal), caller, params.assistant)),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/assistants/:assistant',
      operationId: 'deleteAssistant',
      summary: 'Delete an assistant; the buckets stay',
      access: 'buckets:manage',
      params,
      responses: { 204: { description: 'Deleted' } },
      refusals: [404],
      async handle({ caller, params }) {
        await deleteAssistant(editQueries(sql), caller, params.assistant);
        return { status: 204 };
      },
    }),
  ];
}
