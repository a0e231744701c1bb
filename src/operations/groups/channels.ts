import { z } from 'zod';
import { createChannel, deleteChannel, listChannels } from '../../channels/configs.ts';
import { listDeliveries } from '../../channels/list-records.ts';
import { selectNotifications } from '../../channels/notification-store.ts';
import { CreateChannel, SendRequest } from '../../channels/schema.ts';
import { sendNotification } from '../../channels/send-notification.ts';
import { cancelNotification } from '../../channels/sweep-outbox.ts';
import { listQuestions, listUnanswered } from '../../channels/unanswered-questions.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';
import { findNamedChannel, signTestDelivery } from '../sign-test-delivery.ts';

const ROWS_MAX = 1000;
const Id = z.object({ channel: z.string() });
const Listed = z.object({ channel: z.string().optional(), limit: z.int().min(1).max(ROWS_MAX) });

export const create = forOrganization(CreateChannel, (request, { appliance, operator }) =>
  createChannel(appliance, operator, request),
);

export const list = forOrganization(z.object({}), (_, { appliance, operator }) =>
  listChannels(appliance, operator.orgId),
);

/** Find a configuration by its id, its `bot_id` or its name. */
export const find = forOrganization(Id, ({ channel }, { appliance, operator }) =>
  findNamedChannel(appliance, operator.orgId, channel),
);

/** Ask a channel's platform if it accepts the credential for replies. `check` is null if replies need none. */
export const check = forOrganization(
  Id,
  async ({ channel }, { appliance, operator }) => {
    const { id, provider } = await findNamedChannel(appliance, operator.orgId, channel);
    return { provider, check: await appliance.channels.check(operator.orgId, id) };
  },
  ['channels'],
);

/** Build a delivery as the messenger would. `channel` is the id of the configuration, its `bot_id`, or its name. */
export const sign = forOrganization(
  z.object({ channel: z.string(), utterance: z.string() }),
  ({ channel, utterance }, { appliance, operator }) =>
    signTestDelivery(appliance, operator.orgId, channel, { utterance, userId: operator.actor }),
);

export const remove = forOrganization(Id, async ({ channel }, { appliance, operator }) => {
  await deleteChannel(appliance.sql, operator, channel);
  return { deleted: true };
});

/** List notifications, newest first. */
export const outbox = forOrganization(Listed, async ({ channel, limit }, { appliance, operator }) => {
  const filter = { configId: channel ?? null, rowsMax: limit };
  return listPage(await selectNotifications(appliance.sql, operator.orgId, filter), limit);
});

/** Send a notification, or only check it. `channel` is the id of the configuration, its `bot_id`, or its name. */
export const send = forOrganization(
  SendRequest.omit({ channel_config_id: true }).extend(Id.shape),
  async ({ channel, ...request }, { appliance, operator }) => {
    const { id } = await findNamedChannel(appliance, operator.orgId, channel);
    return sendNotification(appliance.channels.sending, operator, { ...request, channel_config_id: id }, null);
  },
  ['channels'],
);

export const cancel = forOrganization(
  z.object({ notification: z.string() }),
  async ({ notification }, { appliance, operator }) => {
    await cancelNotification(appliance.sql, operator, notification);
    return { cancelled: true };
  },
);

/** Return the number of unanswered questions per configuration. */
export const unanswered = forOrganization(z.object({}), (_, { appliance, operator }) =>
  listUnanswered(appliance.sql, operator.orgId),
);

/** List the kept texts of unanswered questions, newest first. */
export const questions = forOrganization(Listed, async ({ channel, limit }, { appliance, operator }) => {
  const page = { configId: channel, limit, after: undefined };
  return listPage(await listQuestions(appliance.sql, operator.orgId, page), limit);
});

/** List verified deliveries, newest first. */
export const deliveries = forOrganization(Listed, async ({ channel, limit }, { appliance, operator }) => {
  const page = { configId: channel, limit, after: undefined };
  return listPage(await listDeliveries(appliance.sql, operator.orgId, page), limit);
});
