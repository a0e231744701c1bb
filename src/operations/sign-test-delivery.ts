import { type ConfigContext, findChannel, listChannels } from '../channels/configs.ts';
import { MESSENGER } from '../channels/schema.ts';
import { signDelivery } from '../channels/verify-delivery.ts';
import { conflict, notFound } from '../platform/errors.ts';

/** Request to the webhook: its body, and the headers that sign it. */
export interface SignedDelivery {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Sign a delivery with the secret of a channel, as the messenger does.
 *
 * @param ref id of the configuration, its `bot_id`, or its name
 * @throws AppError `channel_configuration_not_found` (404), `name_ambiguous` (409)
 */
export async function signTestDelivery(
  context: ConfigContext,
  orgId: string,
  ref: string,
  delivery: { readonly utterance: string; readonly userId: string },
): Promise<SignedDelivery> {
  const { config } = await findChannel(context, orgId, (await findNamedChannel(context, orgId, ref, MESSENGER)).id);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const body = JSON.stringify({ bot_id: config.bot_id, user_id: delivery.userId, utterance: delivery.utterance });
  return {
    body,
    headers: {
      'content-type': 'application/json',
      'x-messenger-timestamp': timestamp,
      'x-messenger-signature': signDelivery(config.secret, timestamp, Buffer.from(body)),
    },
  };
}

/**
 * Find a configuration by its id, its `bot_id` or its name.
 *
 * @param provider only channels of this provider are searched; by default all
 * @throws AppError `channel_configuration_not_found` (404), `name_ambiguous` (409)
 */
export async function findNamedChannel(
  context: ConfigContext,
  orgId: string,
  ref: string,
  provider?: string,
): Promise<{ readonly id: string; readonly name: string }> {
  const all = await listChannels(context, orgId);
  const channels = all.filter((channel) => provider === undefined || channel.provider === provider);
  for (const isNamed of [
    ({ id, config }: (typeof channels)[number]) => id === ref || config['bot_id'] === ref,
    ({ name }: (typeof channels)[number]) => name === ref,
  ]) {
    const named = channels.filter(isNamed);
    if (named.length > 1)
      throw conflict(`several channels have the name "${ref}"; use an id or a bot_id`, 'name_ambiguous');
    if (named[0] !== undefined) return { id: named[0].id, name: named[0].name };
  }
  throw notFound('channel configuration', ref);
}
