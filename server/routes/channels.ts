import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { createChannel, deleteChannel, listChannels } from '../../src/channels/configs.ts';
import type { Channels } from '../../src/channels/open-channels.ts';
import {
  ChannelReply,
  ChannelView,
  CreateChannel,
  CreatedChannel,
  Delivery,
  ListChannelsQuery,
  SendReply,
  SendRequest,
} from '../../src/channels/schema.ts';
import { sendNotification } from '../../src/channels/send-notification.ts';
import { TryReply, TryRequest } from '../../src/channels/try-channel.ts';
import type { SignatureHeaders, VerifierContext } from '../../src/channels/verify-delivery.ts';
import type { Threads } from '../../src/platform/threads.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { parseJsonBody } from '../body/parse-on-thread.ts';
import { defineRoute, type Route, type RouteContext } from '../route.ts';

/** Size of a delivery with 100,000 characters, each escaped in JSON as a surrogate pair, and its other fields. */
const DELIVERY_BYTES_MAX = 1_300_000;

/** Create the routes of messaging channels (contract 4.10 to 4.12). */
export function channelRoutes(channels: Channels, threads: Threads): Route[] {
  // The signature is verified over the bytes, so the parser gets a copy, which it may transfer to a thread.
  const parse: VerifierContext['parseJson'] = (bytes, signal) => parseJsonBody(threads, Buffer.from(bytes), signal);
  const answer = channels.webhook(parse);
  const delivery = {
    method: 'POST',
    access: 'signature',
    reads: 'signed',
    bodyLimitBytes: DELIVERY_BYTES_MAX,
    body: Delivery,
    checkHeaders: (headers: IncomingHttpHeaders) => channels.checkHeaders(signatureOf(headers)),
    responses: { 200: { description: 'Reply in the simple-text format', schema: ChannelReply } },
    refusals: [403, 429],
  } as const;
  return [
    ...configRoutes(channels),
    ...platformRoutes(channels, parse),
    defineRoute({
      ...delivery,
      path: '/v1/channels/messenger/webhook',
      operationId: 'receiveDelivery',
      summary: 'Answer a delivery of the messenger from the bucket of its channel',
      handle: async ({ signed, signal }) => ({ body: await answer(toDelivery(signed, null), signal) }),
    }),
    defineRoute({
      ...delivery,
      path: '/v1/channels/messenger/:config/webhook',
      operationId: 'receiveDeliveryOfChannel',
      summary: 'Answer a delivery to one configuration, even if other organizations use the same bot_id',
      params: z.object({ config: z.string().min(1).describe('id of the configuration') }),
      handle: async ({ params, signed, signal }) => ({
        body: await answer(toDelivery(signed, params.config), signal),
      }),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/channels/messenger/send',
      operationId: 'sendNotification',
      summary: 'Send a notification made from an approved template',
      access: 'channels:send',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      capacity: 'none',
      body: SendRequest,
      responses: { 200: { description: 'Accepted by the provider or kept in the outbox', schema: SendReply } },
      refusals: [404, 502],
      handle: async ({ caller, body, idempotent }) => ({
        body: await sendNotification(channels.sending, caller, body, idempotent?.key ?? null),
      }),
    }),
  ];
}

/** Create the routes of platforms with their own delivery format. */
function platformRoutes(channels: Channels, parse: VerifierContext['parseJson']): Route[] {
  const answer = channels.webhookOfPlatform(parse);
  const common = {
    method: 'POST',
    access: 'signature',
    reads: 'signed',
    bodyLimitBytes: DELIVERY_BYTES_MAX,
    body: z.looseObject({}).describe('delivery in the form of the platform'),
    responses: {
      200: { description: 'Reply or acknowledgement in the form of the platform', schema: z.looseObject({}) },
    },
    refusals: [403, 429],
  } as const;
  const config = z.string().min(1).max(64).describe('id of the configuration');
  const platform = (provider: string, operationId: string, summary: string) =>
    defineRoute({
      ...common,
      path: `/v1/channels/${provider}/:config`,
      operationId,
      summary,
      params: z.object({ config }),
      handle: async ({ params, signed, signal }) => ({
        body: await answer({ provider, configId: params.config, pathSecret: null, ...signedOf(signed) }, signal),
      }),
    });
  return [
    defineRoute({
      ...common,
      path: '/v1/channels/kakao/:config/:secret',
      operationId: 'answerKakaoSkill',
      summary: 'Answer a skill request of a KakaoTalk chatbot',
      params: z.object({ config, secret: z.string().min(1).max(128).describe('secret of the configuration') }),
      handle: async ({ params, signed, signal }) => ({
        body: await answer(
          { provider: 'kakao', configId: params.config, pathSecret: params.secret, ...signedOf(signed) },
          signal,
        ),
      }),
    }),
    platform('telegram', 'answerTelegramUpdate', 'Answer an update of a Telegram bot'),
    platform('teams', 'answerTeamsMessage', 'Answer a message of an outgoing webhook of Microsoft Teams'),
    platform('slack', 'answerSlackEvent', 'Take an event of a Slack app; the reply is posted in its thread'),
    platform('line', 'answerLineWebhook', 'Take events of a LINE channel; the replies use their reply tokens'),
  ];
}

type Signed = RouteContext<unknown, unknown, unknown>['signed'];

function signedOf(signed: Signed): NonNullable<Signed> {
  if (signed === null) throw new TypeError('the route must read signed bodies');
  return signed;
}

function toDelivery(signed: Signed, configId: string | null) {
  const { headers, bytes } = signedOf(signed);
  return { configId, ...signatureOf(headers), bytes };
}

function signatureOf(headers: IncomingHttpHeaders): SignatureHeaders {
  const header = (name: string) => {
    const value = headers[name];
    return typeof value === 'string' ? value : undefined;
  };
  return { timestamp: header('x-messenger-timestamp'), signature: header('x-messenger-signature') };
}

function configRoutes(channels: Channels): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/channels/configs',
      operationId: 'createChannelConfig',
      summary: 'Store the configuration of a messaging channel',
      access: 'channels:manage',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      body: CreateChannel,
      responses: { 200: { description: 'Stored', schema: CreatedChannel, headers: ['X-Service-Warning'] } },
      async handle({ caller, body }) {
        const { channel, warnings } = await createChannel(channels, caller, body);
        const headers = warnings.length === 0 ? {} : { 'X-Service-Warning': printable(warnings) };
        return { body: channel, headers };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/channels/configs',
      operationId: 'listChannelConfigs',
      summary: 'List the configurations of the organization with masked credentials',
      access: 'caller',
      query: ListChannelsQuery,
      responses: { 200: { description: 'Configurations, oldest first', schema: z.array(ChannelView) } },
      handle: async ({ caller, query }) => ({ body: await listChannels(channels, caller.orgId, query) }),
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/channels/configs/:config/test',
      operationId: 'testChannel',
      summary: 'Answer a question as a channel does, without its platform',
      access: 'channels:manage',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params: z.object({ config: z.string().min(1) }),
      body: TryRequest,
      refusals: [409],
      responses: { 200: { description: 'Reply, and what the platform says about the credential', schema: TryReply } },
      handle: async ({ caller, params, body }) => ({ body: await channels.test(caller, params.config, body) }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/channels/configs/:config',
      operationId: 'deleteChannelConfig',
      summary: 'Delete a configuration permanently',
      access: 'channels:manage',
      params: z.object({ config: z.string().min(1) }),
      responses: { 200: { description: 'Deleted', schema: z.object({ deleted: z.boolean() }) } },
      async handle({ caller, params }) {
        await deleteChannel(channels.sql, caller, params.config);
        return { body: { deleted: true } };
      },
    }),
  ];
}

/** Join warnings into a header value, which allows printable ASCII only. The warnings contain keys as sent. */
function printable(warnings: readonly string[]): string {
  return warnings
    .join('; ')
    .replace(/[^\x20-\x7e]/g, '?')
    .slice(0, 1000);
}
