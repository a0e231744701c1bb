import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { ChannelMetrics } from './channel-metrics.ts';
import { type ConfigContext, findChannel } from './configs.ts';
import { type MessengerProvider, NotAccepted } from './messenger-provider.ts';
import { finishNotification, insertNotification, type NewNotification, selectByKey } from './notification-store.ts';
import type { NotificationRecord, SendReply, SendRequest } from './schema.ts';

export interface SendContext extends ConfigContext {
  /** Provider, or null to keep notifications in the local outbox. */
  readonly provider: MessengerProvider | null;
  readonly metrics: ChannelMetrics;
  readonly logger: Logger;
}

/**
 * Send a notification through the configured provider. Without a provider, keep it in the outbox. With an idempotency
 * key, do not send a notification again that may have been sent.
 *
 * @param idempotencyKey null if every call is a new notification
 * @throws AppError `channel_configuration_not_found` (404), `provider_not_supported` (400), `notification_not_accepted`
 *   (502), `notification_uncertain`, `idempotency_in_progress` (409), `idempotency_key_reused` (422)
 */
export async function sendNotification(
  context: SendContext,
  caller: Pick<Caller, 'orgId' | 'actor'>,
  request: SendRequest,
  idempotencyKey: string | null,
): Promise<SendReply> {
  const { sql, provider, metrics, logger } = context;
  const { orgId, actor } = caller;
  const channel = await findChannel(context, orgId, request.channel_config_id);
  const via = provider === null ? 'outbox' : 'provider';
  const begun = await begin(context, { id: newId('msg'), orgId, actor, idempotencyKey, via, request });
  if (typeof begun !== 'string') return begun;
  const { channel_id } = channel.config;
  const { phone, template_code, template_args } = request;
  try {
    const messageId =
      provider === null
        ? begun
        : await provider.send(channel.config.rest_api_key, { channel_id, phone, template_code, template_args });
    const sentAt = await finishNotification(sql, orgId, begun, { status: 'accepted', messageId });
    metrics.notified(channel.id, 'accepted');
    return { status: 'sent', result: { message_id: messageId, sent_at: sentAt.getTime() } };
  } catch (error) {
    if (!(error instanceof NotAccepted)) throw error;
    const { reason, isUncertain } = error;
    await finishNotification(sql, orgId, begun, { status: 'failed', reason, uncertain: isUncertain });
    metrics.notified(channel.id, 'failed');
    logger.warn({ err: error.cause, channel: channel.id, notification: begun }, 'a notification was not accepted');
    throw notAcceptedError(begun, error);
  }
}

/** Return the id of the new record, or the reply if the notification was already sent. */
async function begin({ sql }: SendContext, notification: NewNotification): Promise<string | SendReply> {
  const { orgId, actor, idempotencyKey, request } = notification;
  const id = await sql.begin(async (tx) => {
    const inserted = await insertNotification(tx, notification);
    if (inserted === null) return null;
    const detail = { template_code: request.template_code, channel: request.channel_config_id };
    await recordAudit(tx, { orgId, actor, action: 'notification.send', target: inserted, detail });
    return inserted;
  });
  if (id !== null) return id;
  const earlier = idempotencyKey === null ? null : await selectByKey(sql, { orgId, actor, idempotencyKey });
  if (earlier === null) throw conflict('the record of this notification was just removed; send the request again');
  return replayOf(earlier, request);
}

/** Return the reply of an earlier request with the same key. */
function replayOf(earlier: NotificationRecord, request: SendRequest): SendReply {
  if (!isSameRequest(earlier, request)) {
    const message = 'this Idempotency-Key was used with another notification; use a new key';
    throw new AppError({ code: 'idempotency_key_reused', status: 422, message });
  }
  if (earlier.status === 'accepted') {
    const sentAt = Date.parse(earlier.finished_at ?? earlier.requested_at);
    return { status: 'sent', result: { message_id: earlier.message_id ?? earlier.id, sent_at: sentAt } };
  }
  const message =
    `an earlier request with this Idempotency-Key may have reached the provider (${earlier.reason ?? 'unfinished'}), ` +
    `so it is not sent again; look for ${earlier.id} in "service channels outbox", and use a new key to send it anyway`;
  throw conflict(message, 'notification_uncertain');
}

function isSameRequest(earlier: NotificationRecord, request: SendRequest): boolean {
  const sorted = (args: Readonly<Record<string, string>>) => JSON.stringify(Object.entries(args).sort());
  return (
    earlier.channel_config_id === request.channel_config_id &&
    earlier.phone === request.phone &&
    earlier.template_code === request.template_code &&
    sorted(earlier.template_args) === sorted(request.template_args)
  );
}

function notAcceptedError(id: string, cause: NotAccepted): AppError {
  const chance = cause.isUncertain ? '; it may have been sent anyway' : '';
  return new AppError({
    code: 'notification_not_accepted',
    status: 502,
    message: `the messaging provider did not accept the notification (${cause.reason})${chance}; its record is ${id}`,
    cause,
  });
}
