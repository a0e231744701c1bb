import { z } from 'zod';
import { listDeliveries, replayDelivery, replaySince, sendTestEvent } from '../../webhooks/deliveries.ts';
import { ListDeliveriesQuery, NewWebhook, ReplayRequest, RotateRequest, WebhookChange } from '../../webhooks/schema.ts';
import {
  changeWebhook,
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  rotateWebhook,
} from '../../webhooks/webhooks.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';

/** Webhook by its id or name. */
const Named = z.object({ webhook: z.string() });

export const add = forOrganization(
  NewWebhook,
  (request, { appliance, operator }) => createWebhook(appliance.webhooks, operator, request),
  ['webhooks'],
);

export const list = forOrganization(z.object({}), async (_, { appliance: { sql }, operator }) =>
  listPage(await listWebhooks(sql, operator)),
);

export const show = forOrganization(Named, ({ webhook }, { appliance: { sql }, operator }) =>
  findWebhook(sql, operator, webhook),
);

export const change = forOrganization(
  Named.extend({ change: WebhookChange }),
  ({ webhook, change }, { appliance, operator }) => changeWebhook(appliance.webhooks, operator, webhook, change),
  ['webhooks'],
);

export const remove = forOrganization(Named, async ({ webhook }, { appliance: { sql }, operator }) => {
  await deleteWebhook(sql, operator, webhook);
  return { deleted: true };
});

export const rotate = forOrganization(
  Named.extend({ overlap_hours: RotateRequest.def.innerType.shape.overlap_hours }),
  ({ webhook, ...request }, { appliance, operator }) => rotateWebhook(appliance.webhooks, operator, webhook, request),
  ['webhooks'],
);

export const test = forOrganization(Named, ({ webhook }, { appliance: { sql }, operator }) =>
  sendTestEvent(sql, operator, webhook),
);

export const deliveries = forOrganization(
  Named.extend(ListDeliveriesQuery.shape),
  async ({ webhook, ...query }, { appliance: { sql }, operator }) =>
    listPage(await listDeliveries(sql, operator, webhook, query), query.limit),
);

export const replay = forOrganization(
  Named.extend({ delivery: z.string() }),
  ({ webhook, delivery }, { appliance: { sql }, operator }) => replayDelivery(sql, operator, webhook, delivery),
);

export const replaySome = forOrganization(
  Named.extend(ReplayRequest.shape),
  async ({ webhook, ...request }, { appliance: { sql }, operator }) => ({
    replayed: await replaySince(sql, operator, webhook, request),
  }),
);
