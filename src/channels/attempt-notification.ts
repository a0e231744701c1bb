import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { ChannelMetrics } from './channel-metrics.ts';
import type { ConfigContext, SendingChannel } from './configs.ts';
import { type HeldNotification, type Outcome, recordOutcome } from './outbox-store.ts';
import { prepareMessage } from './prepare-message.ts';
import { NotAccepted } from './senders/not-accepted.ts';
import type { Senders } from './senders/open-senders.ts';
import type { SenderConnection } from './senders/sender.ts';
import type { TemplateCache } from './template-cache.ts';

export interface SendContext extends ConfigContext {
  readonly senders: Senders;
  readonly templates: TemplateCache;
  readonly metrics: ChannelMetrics;
  readonly logger: Logger;
}

/** Time after which an unaccepted notification is given up. */
export const RETRY_FOR_MS = 6 * 3_600_000;
const FIRST_PAUSE_MS = 15_000;
const PAUSE_MAX_MS = 10 * 60_000;
/** Time until the first request for an accepted notification's delivery report. */
export const FIRST_REPORT_MS = 10_000;

/** Return the pause after the given attempt: 15 s, doubling with each attempt, up to 10 minutes. */
export function pauseMs(tries: number, firstMs = FIRST_PAUSE_MS): number {
  return Math.min(PAUSE_MAX_MS, firstMs * 2 ** Math.min(20, Math.max(0, tries - 1)));
}

export interface Attempt {
  readonly outcome: Outcome;
  readonly endedAt: Date;
  /** Error if the notification was not accepted; null otherwise. */
  readonly error: AppError | NotAccepted | null;
}

/**
 * Prepare and send a notification once, and record the outcome. Without a connection, it only stays in the outbox.
 *
 * @throws any error that is neither an AppError nor `NotAccepted`
 */
export async function attemptNotification(
  context: SendContext,
  channel: SendingChannel,
  connection: SenderConnection | null,
  held: HeldNotification,
): Promise<Attempt> {
  const { sql, metrics, logger } = context;
  const ended = async (outcome: Outcome, error: Attempt['error']): Promise<Attempt> => {
    const endedAt = await recordOutcome(sql, held, outcome);
    if (outcome.status !== 'queued') metrics.notified(channel.id, outcome.status);
    return { outcome, endedAt, error };
  };
  try {
    const message = await prepareMessage(context.templates, channel, connection, held);
    const messageId = connection === null ? held.id : await connection.send(message);
    const waitMs = connection?.report === undefined ? null : FIRST_REPORT_MS;
    return await ended({ status: 'accepted', messageId, waitMs }, null);
  } catch (error) {
    if (!(error instanceof NotAccepted) && !(error instanceof AppError)) throw error;
    logger.warn({ err: error, channel: channel.id, notification: held.id }, 'a notification was not accepted');
    return ended(failureOf(error, held, connection?.find !== undefined), error);
  }
}

/** Return the state of an unaccepted notification. @param canFind true if the vendor can look it up */
function failureOf(error: AppError | NotAccepted, { tries, requestedAt }: HeldNotification, canFind: boolean): Outcome {
  if (error instanceof AppError) return { status: 'failed', reason: error.message, uncertain: false };
  const { kind, reason, isUncertain: uncertain, retryAfterMs } = error;
  const isFinal = kind === 'rejected' || kind === 'refused' || !canFind;
  if (isFinal || Date.now() - requestedAt.getTime() > RETRY_FOR_MS) return { status: 'failed', reason, uncertain };
  return { status: 'queued', reason, uncertain, waitMs: Math.max(retryAfterMs ?? 0, pauseMs(tries)) };
}
