import { z } from 'zod';
import type { Threads } from '../../src/platform/threads.ts';
import { acceptStart } from '../../src/workflows/accept-start.ts';
import type { Workflows } from '../../src/workflows/open-workflows.ts';
import { CreatedTrigger, NewTrigger, StartEvent, StartReply, TriggerView } from '../../src/workflows/trigger-schema.ts';
import { createTrigger, listTriggers, removeTrigger } from '../../src/workflows/triggers.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { parseJsonBody } from '../body/parse-on-thread.ts';
import { pageSchema } from '../pages.ts';
import { defineRoute, type Route, type RouteContext } from '../route.ts';

const params = z.object({ workflow: z.string().min(1).max(200).describe('id or name') });
const trigger = z.string().min(1).max(64).describe('id of the trigger');

/** Create the routes of what starts workflows. */
export function workflowTriggerRoutes(workflows: Workflows, threads: Threads): Route[] {
  const { sql } = workflows;
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/workflows/:workflow/triggers',
      operationId: 'createWorkflowTrigger',
      summary: 'Let a schedule, signed requests or new documents start a workflow, with the rights of the caller',
      access: 'workflows:manage',
      refusesUnknownFields: true,
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params,
      body: NewTrigger,
      responses: { 201: { description: 'The trigger, with its secret', schema: CreatedTrigger } },
      refusals: [403, 404, 409],
      handle: async ({ caller, params, body }) => ({
        status: 201,
        body: await createTrigger(workflows, caller, params.workflow, body),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/workflows/:workflow/triggers',
      operationId: 'listWorkflowTriggers',
      summary: 'Triggers of a workflow',
      access: 'workflows:manage',
      params,
      responses: { 200: { description: 'The triggers, oldest first', schema: pageSchema(TriggerView) } },
      async handle({ caller, params }) {
        const data = await listTriggers(sql, caller, params.workflow);
        return { body: { object: 'list', data, has_more: false, next_cursor: null } };
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/workflows/:workflow/triggers/:trigger',
      operationId: 'removeWorkflowTrigger',
      summary: 'Remove a trigger of a workflow',
      access: 'workflows:manage',
      params: params.extend({ trigger }),
      responses: { 204: { description: 'Removed' } },
      async handle({ caller, params }) {
        await removeTrigger(sql, caller, params.workflow, params.trigger);
        return { status: 204 };
      },
    }),
    startRoute(workflows, threads),
  ];
}

function startRoute(workflows: Workflows, threads: Threads): Route {
  return defineRoute({
    method: 'POST',
    path: '/v1/workflow-triggers/:trigger',
    operationId: 'startWorkflowByWebhook',
    summary: 'Start a workflow with a request that is signed according to Standard Webhooks',
    access: 'signature',
    reads: 'signed',
    bodyLimitBytes: SMALL_BODY_BYTES_MAX,
    params: z.object({ trigger }),
    body: StartEvent,
    responses: { 202: { description: 'Kept; a run begins soon', schema: StartReply } },
    refusals: [403],
    async handle({ params, signed, signal }) {
      const request = { triggerId: params.trigger, ...requestOf(signed) };
      // The parser may transfer the bytes to a thread.
      const accepted = await acceptStart(workflows, request, (bytes) =>
        parseJsonBody(threads, Buffer.from(bytes), signal),
      );
      return { status: 202, body: { accepted } };
    },
  });
}

function requestOf(signed: RouteContext<unknown, unknown, unknown>['signed']) {
  if (signed === null) throw new TypeError('the route must read signed bodies');
  const header = (name: string) => {
    const value = signed.headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return {
    id: header('webhook-id'),
    timestamp: header('webhook-timestamp'),
    signature: header('webhook-signature'),
    bytes: signed.bytes,
  };
}
