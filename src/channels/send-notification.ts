import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { type Attempt, attemptNotification, RETRY_FOR_MS, type SendContext } from './attempt-notification.ts';
import { findSendingChannel, type SendingChannel } from './configs.ts';
import { insertNotification, type NewNotification, optionsOf, selectByKey } from './notification-store.ts';
import { prepareMessage } from './prepare-message.ts';
import {
  type DryRun,
  MESSENGER,
  type NotificationRecord,
  type ResendOptions,
  type SendReply,
  type SendRequest,
} from './schema.ts';
import { NotAccepted } from './senders/not-accepted.ts';
import type { SenderConnection } from './senders/sender.ts';

/** Time after which the outbox takes over a notification of a dead process. Sending takes less. */
export const LEASE_MS = 5 * 60_000;

/**
 * Send a notification through its configuration's provider, or keep it in the outbox if there is none. With an
 * idempotency key, don't resend a notification that may have been sent.
 *
 * @param idempotencyKey null if every call is a new notification
 * @throws AppError `channel_configuration_not_found` (404), `provider_not_supported`, `notification_rejected` and the
 *   errors of `prepareMessage` (400), `notification_not_accepted`, `notification_queued` (502),
 *   `notification_uncertain`, `idempotency_in_progress` (409), `idempotency_key_reused` (422)
 */
export async function sendNotification(
  context: SendContext,
  caller: Pick<Caller, 'orgId' | 'actor'>,
  request: SendRequest,
  idempotencyKey: string | null,
): Promise<SendReply> {
  const { orgId, actor } = caller;
  const channel = await findSendingChannel(context, orgId, request.channel_config_id);
  const connection = context.senders.connect(channel);
  if (request.dry_run) return dryRun(context, channel, connection, request);
  const via = connection === null ? 'outbox' : 'provider';
  const leaseMs = connection?.find === undefined ? null : LEASE_MS;
  const begun = await begin(context, { id: newId('msg'), orgId, actor, idempotencyKey, via, request, leaseMs });
  if (typeof begun !== 'string') return begun;
  const held = { id: begun, orgId, request, requestedAt: new Date(), tries: 1 };
  const { outcome, endedAt, error } = await attemptNotification(context, channel, connection, held);
  if (outcome.status === 'accepted') return sent(outcome.messageId, endedAt);
  throw error instanceof NotAccepted ? notAcceptedError(begun, error, outcome) : error;
}

/** Prepare a notification without recording or sending it. @throws the errors of `prepareMessage`, and AppError 502 */
async function dryRun(
  { templates }: SendContext,
  channel: SendingChannel,
  connection: SenderConnection | null,
  request: SendRequest,
): Promise<DryRun> {
  const held = { id: newId('msg'), request, requestedAt: new Date() };
  try {
    const { phone, rendered, instead } = await prepareMessage(templates, channel, connection, held);
    const resend = instead && { type: instead.type, from: instead.from, text: instead.text };
    const provider = channel.kind === 'vendor' ? channel.sender.provider : MESSENGER;
    return { status: 'dry_run', result: { provider, phone, text: rendered?.text ?? null, resend } };
  } catch (error) {
    if (!(error instanceof NotAccepted)) throw error;
    const message = `the messaging provider did not return the template (${error.reason})`;
    throw new AppError({ code: 'notification_not_accepted', status: 502, message, cause: error });
  }
}

/** Return the id of the new record, or the response if the notification was already sent. */
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

function sent(messageId: string, at: Date): SendReply {
  return { status: 'sent', result: { message_id: messageId, sent_at: at.getTime() } };
}

type EarlierRecord = NotificationRecord & { readonly options: ResendOptions };

/** Return the response of an earlier request with the same key. */
function replayOf(earlier: EarlierRecord, request: SendRequest): SendReply {
  if (!isSameRequest(earlier, request)) {
    const message = 'this Idempotency-Key was used with another notification; use a new key';
    throw new AppError({ code: 'idempotency_key_reused', status: 422, message });
  }
  if (earlier.status === 'accepted' || earlier.status === 'delivered') {
    return sent(earlier.message_id ?? earlier.id, new Date(earlier.finished_at ?? earlier.requested_at));
  }
  if (earlier.status === 'queued') {
    const message =
      `the notification of an earlier request with this Idempotency-Key waits in the outbox as ${earlier.id} ` +
      `(${earlier.reason}); the service sends it`;
    throw conflict(message, 'notification_queued');
  }
  const message =
    `an earlier request with this Idempotency-Key may have reached the provider (${earlier.reason ?? 'unfinished'}), ` +
    `so it is not sent again; look for ${earlier.id} in "service channels outbox", and use a new key to send it anyway`;
  throw conflict(message, 'notification_uncertain');
}

function isSameRequest(earlier: EarlierRecord, request: SendRequest): boolean {
  const sorted = (args: Readonly<Record<string, unknown>>) => JSON.stringify(Object.entries(args).sort());
  return (
    earlier.channel_config_id === request.channel_config_id &&
    earlier.phone === request.phone &&
    earlier.template_code === request.template_code &&
    sorted(earlier.template_args) === sorted(request.template_args) &&
    sorted(earlier.options) === sorted(optionsOf(request))
  );
}

function notAcceptedError(id: string, cause: NotAccepted, outcome: Attempt['outcome']): AppError {
  const { kind, reason, isUncertain } = cause;
  const start = `the messaging provider did not accept the notification (${reason})`;
  if (kind === 'rejected') {
    const message = `${start}; correct it and send it again. Its record is ${id}`;
    return new AppError({ code: 'notification_rejected', status: 400, message, cause });
  }
  if (outcome.status === 'queued') {
    const next = isUncertain
      ? 'it may have been sent anyway, so the service asks the provider and does not send it again'
      : `the service sends it again for up to ${RETRY_FOR_MS / 3_600_000} hours`;
    const message = `${start}; the outbox keeps it as ${id}, and ${next}. Do not send it again`;
    return new AppError({ code: 'notification_queued', status: 502, message, cause });
  }
  const chance = isUncertain ? '; it may have been sent anyway' : '';
  const message = `${start}${chance}; its record is ${id}`;
  return new AppError({ code: 'notification_not_accepted', status: 502, message, cause });
}
