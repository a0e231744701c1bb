import { z } from 'zod';
import { listDeliveries, replayDelivery, replaySince, sendTestEvent } from '../../src/webhooks/deliveries.ts';
import type { Webhooks } from '../../src/webhooks/open-webhooks.ts';
import {
  CreatedWebhook,
  ListDeliveriesQuery,
  NewWebhook,
  ReplayReply,
  ReplayRequest,
  RotateRequest,
  WebhookChange,
  WebhookDelivery,
  WebhookView,
} from '../../src/webhooks/schema.ts';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  rotateWebhook,
} from '../../src/webhooks/webhooks.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { pageSchema, readPage } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';

const params = z.object({ webhook: z.string().min(1).max(200).describe('id or name') });

/** Fields of every route. An address may contain a credential, so reading also needs the scope. */
const common = { access: 'webhooks:manage' } as const;
const change = { ...common, refusesUnknownFields: true, bodyLimitBytes: SMALL_BODY_BYTES_MAX } as const;

/** Create the routes of webhooks that the service sends. */
export function webhookRoutes(webhooks: Webhooks): Route[] {
  return [...readRoutes(webhooks), ...changeRoutes(webhooks), ...deliveryRoutes(webhooks)];
}

function readRoutes({ sql }: Webhooks): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/webhooks',
      operationId: 'listWebhooks',
      summary: 'Webhooks of the organization, by name, without their secrets',
      responses: { 200: { description: 'The webhooks', schema: pageSchema(WebhookView) } },
      async handle({ caller, signal }) {
        const data = await listWebhooks(reportQueries(sql, signal), caller);
        return { body: { object: 'list', data, has_more: false, next_cursor: null } };
      },
    }),
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/webhooks/:webhook',
      operationId: 'getWebhook',
      summary: 'One webhook, without its secret',
      params,
      responses: { 200: { description: 'The webhook', schema: WebhookView } },
      handle: async ({ caller, params, signal }) => ({
        body: await findWebhook(reportQueries(sql, signal), caller, params.webhook),
      }),
    }),
  ];
}

function changeRoutes(webhooks: Webhooks): Route[] {
  const limited = { ...webhooks, sql: editQueries(webhooks.sql) };
  return [
    defineRoute({
      ...change,
      method: 'POST',
      path: '/v1/webhooks',
      operationId: 'createWebhook',
      summary: 'Create a webhook, which posts events of the organization to an address',
      idempotent: true,
      repliesSecret: true,
      body: NewWebhook,
      responses: { 201: { description: 'The webhook, with its secret', schema: CreatedWebhook } },
      refusals: [409],
      handle: async ({ caller, body }) => ({ status: 201, body: await createWebhook(limited, caller, body) }),
    }),
    defineRoute({
      ...change,
      method: 'PATCH',
      path: '/v1/webhooks/:webhook',
      operationId: 'changeWebhook',
      summary: 'Change the name, the address or the events of a webhook, disable or enable it',
      params,
      body: WebhookChange,
      responses: { 200: { description: 'The webhook after the change', schema: WebhookView } },
      refusals: [409],
      handle: async ({ caller, params, body }) => ({
        body: await changeWebhook(limited, caller, params.webhook, body),
      }),
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      path: '/v1/webhooks/:webhook',
      operationId: 'deleteWebhook',
      summary: 'Delete a webhook with its list of deliveries',
      params,
      responses: { 204: { description: 'Deleted' } },
      async handle({ caller, params }) {
        await deleteWebhook(limited.sql, caller, params.webhook);
        return { status: 204 };
      },
    }),
    defineRoute({
      ...change,
      method: 'POST',
      path: '/v1/webhooks/:webhook/secret',
      operationId: 'rotateWebhookSecret',
      summary: 'Replace the secret of a webhook; for a while, events are signed with both',
      idempotent: true,
      repliesSecret: true,
      params,
      body: RotateRequest,
      responses: { 200: { description: 'The webhook, with its new secret', schema: CreatedWebhook } },
      handle: async ({ caller, params, body }) => ({
        body: await rotateWebhook(limited, caller, params.webhook, body),
      }),
    }),
  ];
}

function deliveryRoutes({ sql }: Webhooks): Route[] {
  return [
    defineRoute({
      ...common,
      method: 'GET',
      path: '/v1/webhooks/:webhook/deliveries',
      operationId: 'listWebhookDeliveries',
      summary: 'Deliveries of a webhook, newest first',
      params,
      query: ListDeliveriesQuery,
      responses: { 200: { description: 'Deliveries', schema: pageSchema(WebhookDelivery) } },
      async handle({ caller, params, query, signal }) {
        const limited = reportQueries(sql, signal);
        const { limit, cursor, status } = query;
        const page = await readPage({ limit, cursor }, (rows) =>
          listDeliveries(limited, caller, params.webhook, { status, limit: rows.limit, cursor: rows.after }),
        );
        return { body: page };
      },
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/v1/webhooks/:webhook/test',
      operationId: 'testWebhook',
      summary: 'Send an event of the type webhook.test to a webhook',
      params,
      responses: { 202: { description: 'The delivery, which is sent soon', schema: WebhookDelivery } },
      refusals: [409],
      handle: async ({ caller, params }) => ({
        status: 202,
        body: await sendTestEvent(editQueries(sql), caller, params.webhook),
      }),
    }),
    defineRoute({
      ...common,
      method: 'POST',
      path: '/v1/webhooks/:webhook/deliveries/:delivery/replay',
      operationId: 'replayWebhookDelivery',
      summary: 'Send a delivery again, with the same id',
      params: params.extend({ delivery: z.string().min(1).max(64).describe('id of the event') }),
      responses: { 202: { description: 'The delivery, which is sent soon', schema: WebhookDelivery } },
      refusals: [409],
      handle: async ({ caller, params }) => ({
        status: 202,
        body: await replayDelivery(editQueries(sql), caller, params.webhook, params.delivery),
      }),
    }),
    defineRoute({
      ...change,
      method: 'POST',
      path: '/v1/webhooks/:webhook/replay',
      operationId: 'replayWebhook',
      summary: 'Send the failed deliveries of events since a time again',
      params,
      body: ReplayRequest,
      responses: { 202: { description: 'Number of deliveries that are sent again', schema: ReplayReply } },
      refusals: [409],
      handle: async ({ caller, params, body }) => ({
        status: 202,
        body: { replayed: await replaySince(editQueries(sql), caller, params.webhook, body) },
      }),
    }),
  ];
}
