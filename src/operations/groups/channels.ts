import { z } from 'zod';
import { createChannel, deleteChannel, listChannels } from '../../channels/configs.ts';
import { listDeliveries } from '../../channels/list-records.ts';
import { selectNotifications } from '../../channels/notification-store.ts';
import { CreateChannel } from '../../channels/schema.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';
import { findNamedChannel, signTestDelivery } from '../sign-test-delivery.ts';

const OUTBOX_ROWS_MAX = 1000;
const Id = z.object({ channel: z.string() });

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

/** Ask the platform of a channel if it takes the credential of replies. `check` is null if they need none. */
export const check = forOrganization(
  Id,
  async ({ channel }, { appliance, operator }) => {
    const { id, provider } = await findNamedChannel(appliance, operator.orgId, channel);
    return { provider, check: await appliance.channels.check(operator.orgId, id) };
  },
  ['channels'],
);

/** Make a delivery as the messenger does. `channel` is the id of the configuration, its `bot_id`, or its name. */
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
export const outbox = forOrganization(
  z.object({ channel: z.string().optional(), limit: z.int().min(1).max(OUTBOX_ROWS_MAX) }),
  async ({ channel, limit }, { appliance, operator }) => {
    const filter = { configId: channel ?? null, rowsMax: limit };
    return listPage(await selectNotifications(appliance.sql, operator.orgId, filter), limit);
  },
);

/** List verified deliveries, newest first. */
export const deliveries = forOrganization(
  z.object({ channel: z.string().optional(), limit: z.int().min(1).max(OUTBOX_ROWS_MAX) }),
  async ({ channel, limit }, { appliance, operator }) => {
    const page = { configId: channel, limit, after: undefined };
    return listPage(await listDeliveries(appliance.sql, operator.orgId, page), limit);
  },
);
