import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { AppError, conflict, notFound } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { attemptNotification, pauseMs, RETRY_FOR_MS, type SendContext } from './attempt-notification.ts';
import { findSendingChannel, type SendingChannel } from './configs.ts';
import {
  cancelQueued,
  claimDue,
  type DueNotification,
  type Outcome,
  postponeReport,
  recordOutcome,
  recordReport,
  selectOtherMessageIds,
  selectState,
} from './outbox-store.ts';
import { prepareMessage } from './prepare-message.ts';
import { LEASE_MS } from './send-notification.ts';
import { NotAccepted } from './senders/not-accepted.ts';
import type { Found, SenderConnection } from './senders/sender.ts';

/** Notifications per claim. All of them finish within the lease. */
const CLAIMED_MAX = 40;
const AT_ONCE_MAX = 8;
/** Time for which to look up a notification that the vendor may have accepted. */
const ASK_FOR_MS = 30 * 60_000;
/** Time for which to request the report of an accepted notification. */
const REPORT_FOR_MS = 24 * 3_600_000;
const REPORT_PAUSE_MS = 20_000;

/**
 * Process all due notifications: look up those that the vendor may have accepted, resend the others, and request
 * reports. Any number of processes may run this, since each claim belongs to one process.
 */
export async function sweepOutbox(context: SendContext, signal: AbortSignal): Promise<void> {
  for (;;) {
    signal.throwIfAborted();
    const due = await claimDue(context.sql, CLAIMED_MAX, LEASE_MS);
    const queue = due.values();
    const work = async () => {
      for (const notification of queue) await act(context, notification);
    };
    await Promise.all(Array.from({ length: AT_ONCE_MAX }, work));
    if (due.length < CLAIMED_MAX) return;
  }
}

/** Process one notification. Log an unexpected error; the outbox retries after the lease. */
async function act(context: SendContext, due: DueNotification): Promise<void> {
  try {
    const channel = await findSendingChannel(context, due.orgId, due.request.channel_config_id);
    const connection = context.senders.connect(channel);
    if (connection === null) await end(context, due, failed('the provider has no address', due.uncertain));
    else if (due.status === 'accepted') await askForReport(context, channel, connection, due);
    else await sendAgain(context, channel, connection, due);
  } catch (error) {
    if (error instanceof AppError) await giveUp(context, due, error.message);
    else context.logger.error({ err: error, notification: due.id }, 'the outbox could not act on a notification');
  }
}

/** End a notification whose configuration was deleted or lacks fields. */
async function giveUp(context: SendContext, due: DueNotification, reason: string): Promise<void> {
  if (due.status === 'accepted') await postponeReport(context.sql, due, null);
  else await end(context, due, failed(reason, due.uncertain));
}

function failed(reason: string, uncertain: boolean): Outcome {
  return { status: 'failed', reason, uncertain };
}

async function end({ sql, metrics }: SendContext, due: DueNotification, outcome: Outcome): Promise<void> {
  await recordOutcome(sql, due, outcome);
  if (outcome.status !== 'queued') metrics.notified(due.request.channel_config_id, outcome.status);
}

/** Resend a notification unless the vendor has it or may have it. */
async function sendAgain(
  context: SendContext,
  channel: SendingChannel,
  connection: SenderConnection,
  due: DueNotification,
): Promise<void> {
  const ageMs = Date.now() - due.requestedAt.getTime();
  const reason = due.reason ?? 'unfinished';
  const isOver = ageMs > RETRY_FOR_MS;
  const found = await find(context, channel, connection, due);
  if (found instanceof NotAccepted) {
    const outcome = isOver ? failed(reason, due.uncertain) : waiting(due, reason, found.retryAfterMs);
    return end(context, due, outcome);
  }
  if (found === 'unclear') return end(context, due, failed(`${reason}; the vendor has several such messages`, true));
  if (found !== 'absent') return end(context, due, { status: 'accepted', messageId: found.messageId, waitMs: 0 });
  if (!due.uncertain && isOver) {
    await end(context, due, failed(reason, false));
  } else if (!due.uncertain) {
    await attemptNotification(context, channel, connection, due);
  } else if (ageMs > ASK_FOR_MS) {
    await end(context, due, failed(`${reason}; the vendor has no such message`, false));
  } else {
    await end(context, due, waiting(due, reason, null));
  }
}

function waiting({ uncertain, tries }: DueNotification, reason: string, retryAfterMs: number | null): Outcome {
  return { status: 'queued', reason, uncertain, waitMs: Math.max(retryAfterMs ?? 0, pauseMs(tries)) };
}

/** Look up a notification at the vendor. Return the error of a failed lookup. */
async function find(
  context: SendContext,
  channel: SendingChannel,
  connection: SenderConnection,
  due: DueNotification,
): Promise<Found | NotAccepted> {
  try {
    const message = await prepareMessage(context.templates, channel, connection, due);
    const others = new Set(await selectOtherMessageIds(context.sql, due));
    return (await connection.find?.(message, others)) ?? 'unclear';
  } catch (error) {
    if (error instanceof NotAccepted) return error;
    throw error;
  }
}

async function askForReport(
  { sql, metrics, logger }: SendContext,
  channel: SendingChannel,
  connection: SenderConnection,
  due: DueNotification,
): Promise<void> {
  try {
    const report = (await connection.report?.(due.messageId ?? '')) ?? { state: 'pending' };
    if (report.state !== 'pending') {
      const reason = report.state === 'failed' ? report.reason : report.as === 'text' ? 'text message' : null;
      await recordReport(sql, due, { status: report.state, reason });
      return metrics.notified(channel.id, report.state);
    }
  } catch (error) {
    if (!(error instanceof NotAccepted)) throw error;
    logger.warn({ err: error, notification: due.id }, 'a vendor did not report the state of a notification');
  }
  const ageMs = Date.now() - (due.acceptedAt ?? due.requestedAt).getTime();
  await postponeReport(sql, due, ageMs > REPORT_FOR_MS ? null : pauseMs(due.tries, REPORT_PAUSE_MS));
}

/**
 * Cancel a notification that is waiting in the outbox.
 *
 * @throws AppError `notification_not_found` (404), `notification_not_queued` (409)
 */
export async function cancelNotification(sql: Sql, caller: Pick<Caller, 'orgId' | 'actor'>, id: string): Promise<void> {
  await sql.begin(async (tx) => {
    if (!(await cancelQueued(tx, caller.orgId, id))) {
      const state = await selectState(tx, caller.orgId, id);
      if (state === null) throw notFound('notification', id);
      throw conflict(`the notification is ${state}; only a queued one can be cancelled`, 'notification_not_queued');
    }
    const { orgId, actor } = caller;
    await recordAudit(tx, { orgId, actor, action: 'notification.cancel', target: id });
  });
}
