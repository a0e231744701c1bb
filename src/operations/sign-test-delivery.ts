import { type ConfigContext, findAnswered, findChannel, listChannels } from '../channels/configs.ts';
import { MESSENGER } from '../channels/schema.ts';
import { SENDERS } from '../channels/senders/senders.ts';
import { signDelivery } from '../channels/verify-delivery.ts';
import { conflict, invalidRequest, notFound } from '../platform/errors.ts';

const WEBHOOK = '/v1/channels/messenger/webhook';

/** Request to a channel's webhook. */
export interface SignedDelivery {
  readonly provider: string;
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Build a delivery for a channel, as its messenger would.
 *
 * @param ref id of the configuration, its `bot_id`, or its name
 * @throws AppError `channel_configuration_not_found` (404), `provider_not_supported` (400 or 409), `name_ambiguous`
 *   (409)
 */
export async function signTestDelivery(
  context: ConfigContext,
  orgId: string,
  ref: string,
  delivery: { readonly utterance: string; readonly userId: string },
): Promise<SignedDelivery> {
  const { id, provider } = await findNamedChannel(context, orgId, ref);
  if (SENDERS.has(provider)) {
    const message = `the channel only sends notifications; try "service channels send ${ref} --dry-run" with a template`;
    throw invalidRequest(message, 'channel', 'provider_not_supported');
  }
  if (provider !== MESSENGER) {
    const { channel, messenger } = await findAnswered(context, orgId, id);
    if (messenger === null) throw new TypeError(`${provider} must have a messenger`);
    const { body, headers } = messenger.makeDelivery(delivery.utterance, channel.config);
    const path = messenger.pathOf(id, channel.config);
    return { provider, path, body, headers: { 'content-type': 'application/json', ...headers } };
  }
  const { config } = await findChannel(context, orgId, id);
  const timestamp = String(Math.floor(Date.now() / 1000));
  const body = JSON.stringify({ bot_id: config.bot_id, user_id: delivery.userId, utterance: delivery.utterance });
  return {
    provider,
    path: WEBHOOK,
    body,
    headers: {
      'content-type': 'application/json',
      'x-messenger-timestamp': timestamp,
      'x-messenger-signature': signDelivery(config.secret, timestamp, Buffer.from(body)),
    },
  };
}

/**
 * Find a configuration by id, `bot_id` or name.
 *
 * @throws AppError `channel_configuration_not_found` (404), `name_ambiguous` (409)
 */
export async function findNamedChannel(
  context: ConfigContext,
  orgId: string,
  ref: string,
): Promise<{ readonly id: string; readonly name: string; readonly provider: string }> {
  const channels = await listChannels(context, orgId);
  for (const isNamed of [
    ({ id, config }: (typeof channels)[number]) => id === ref || config['bot_id'] === ref,
    ({ name }: (typeof channels)[number]) => name === ref,
  ]) {
    const named = channels.filter(isNamed);
    if (named.length > 1)
      throw conflict(`several channels have the name "${ref}"; use an id or a bot_id`, 'name_ambiguous');
    if (named[0] !== undefined) return { id: named[0].id, name: named[0].name, provider: named[0].provider };
  }
  throw notFound('channel configuration', ref);
}
