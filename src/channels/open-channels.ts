import type { Caller } from '../access/caller.ts';
import type { AnswerContext as AnsweringContext } from '../answers/answer-question.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import { AppError } from '../platform/errors.ts';
import type { Service } from '../platform/lifecycle.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Sql } from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import type { SearchContext } from '../search/search.ts';
import type { RateLimiter } from '../usage/rates.ts';
import { answerDelivery } from './answer-delivery.ts';
import type { AnswerContext } from './answer-question.ts';
import { answerWebhook, type WebhookDelivery } from './answer-webhook.ts';
import type { SendContext } from './attempt-notification.ts';
import { CALL_LIMIT, openCallLog } from './call-log.ts';
import { deleteOldCalls } from './call-store.ts';
import { openChannelMetrics } from './channel-metrics.ts';
import { type ConfigContext, findAnswered } from './configs.ts';
import { deleteOldDeliveries } from './delivery-store.ts';
import { type CredentialCheck, checkCredential } from './later/check-credential.ts';
import { LaterSender } from './later/later-sender.ts';
import { deleteOldLater } from './later/later-store.ts';
import { deleteOldNotifications, failInterrupted } from './notification-store.ts';
import { deleteOldCounts, deleteOldQuestions } from './question-store.ts';
import { openReplyOnce } from './reply-once.ts';
import { deleteExpiredReplies } from './reply-store.ts';
import { openSearchLoad } from './retrieve-passages.ts';
import type { ChannelReply } from './schema.ts';
import { openSenders } from './senders/open-senders.ts';
import { sweepOutbox } from './sweep-outbox.ts';
import { TemplateCache } from './template-cache.ts';
import { type TryReply, type TryRequest, tryChannel } from './try-channel.ts';
import { COUNTED_DAYS_MAX, QUESTIONS_KEPT_MS, unansweredRecorder } from './unanswered-questions.ts';
import {
  type IncomingDelivery,
  openVerifier,
  readHeaders,
  type SignatureHeaders,
  type VerifierContext,
} from './verify-delivery.ts';

const OUTBOX_EVERY_MS = 5_000;
const ROWS_SWEPT_MAX = 10_000;
/** Age at which the process of an unfinished notification counts as dead. Sending takes at most one minute. */
const INTERRUPTED_MS = 5 * 60_000;
const NOTIFICATIONS_KEPT_MS = 90 * 24 * 3_600_000;
/** Time for which repeated deliveries are recognised. Slack repeats delayed events for 24 hours. */
const LATER_KEPT_MS = 48 * 3_600_000;

/** Messaging channels: configurations, webhooks and notifications. */
export interface Channels extends ConfigContext {
  readonly sending: SendContext;
  /** Refuse a delivery by its headers alone. @throws AppError 403 */
  checkHeaders(headers: SignatureHeaders): void;
  /** Return the function that answers deliveries. @param parseJson parses a body or throws AppError 400 */
  webhook(
    parseJson: VerifierContext['parseJson'],
  ): (incoming: IncomingDelivery, signal: AbortSignal) => Promise<ChannelReply>;
  /** Return the function that answers deliveries of platforms with their own format. */
  webhookOfPlatform(
    parseJson: VerifierContext['parseJson'],
  ): (delivery: WebhookDelivery, signal: AbortSignal) => Promise<object>;
  /** Answer a question like a channel, but without its platform. */
  test(caller: Pick<Caller, 'orgId' | 'plan'>, id: string, request: TryRequest): Promise<TryReply>;
  /** Ask a channel's platform whether it accepts the credential for replies. Return null if they need none. */
  check(orgId: string, id: string): Promise<CredentialCheck | null>;
  /** Create the service that sends later replies, including those of dead processes. */
  laterReplies(): Service;
  readonly chores: (everyMs: number) => readonly Chore[];
  close(): Promise<void>;
}

export function openChannels(context: {
  readonly config: Pick<Config, 'channels' | 'baseUrl'>;
  readonly sql: Sql;
  readonly redis: RedisConnection | null;
  readonly keyRing: Pick<KeyRing, 'encryption'>;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly search: SearchContext;
  readonly answers: AnsweringContext;
  readonly rates: RateLimiter;
}): Channels {
  const { config, sql, redis, keyRing, logger, search, answers, rates } = context;
  const metrics = openChannelMetrics(context.metrics.registry);
  const { replyDeadlineMs: deadlineMs, deliveriesKeptMs, keepsQuestions, platforms } = config.channels;
  const senders = openSenders(config.channels);
  const sending: SendContext = { sql, keyRing, senders, templates: new TemplateCache(), metrics, logger };
  const answering: AnswerContext = {
    search,
    rates,
    logger,
    metrics,
    load: openSearchLoad(),
    replies: openReplyOnce({ sql, logger }),
    calls: openCallLog({ sql, redis, logger }),
    answers,
    recordUnanswered: unansweredRecorder({ sql, logger }, keepsQuestions),
  };
  const origin = config.baseUrl?.replace(/\/+$/, '') ?? null;
  const later = { ...answering, sql, keyRing, platforms, origin };
  const sender = new LaterSender(later);
  return {
    sql,
    keyRing,
    sending,
    checkHeaders(headers) {
      try {
        readHeaders(headers, Date.now());
      } catch (error) {
        if (error instanceof AppError) metrics.refused(null, error.code);
        throw error;
      }
    },
    webhook(parseJson) {
      const verifier = openVerifier({ sql, keyRing, parseJson });
      return (incoming, signal) => answerDelivery({ ...answering, verifier, deadlineMs }, incoming, signal);
    },
    webhookOfPlatform: (parseJson) => (delivery, signal) =>
      answerWebhook({ ...later, sender, deadlineMs, parseJson }, delivery, signal),
    test: (caller, id, request) => tryChannel({ ...later, deadlineMs }, caller, id, request),
    async check(orgId, id) {
      const { messenger, channel } = await findAnswered({ sql, keyRing }, orgId, id);
      return messenger && checkCredential(platforms, messenger, channel.config);
    },
    laterReplies: () => sender.service(),
    chores: (everyMs) => [
      {
        name: 'sending of notifications in the outbox',
        everyMs: Math.min(everyMs, OUTBOX_EVERY_MS),
        run: (signal) => sweepOutbox(sending, signal),
      },
      {
        name: 'removal of old records of channels',
        everyMs,
        async run() {
          await deleteExpiredReplies(sql, ROWS_SWEPT_MAX);
          await deleteOldDeliveries(sql, deliveriesKeptMs, ROWS_SWEPT_MAX);
          await deleteOldLater(sql, LATER_KEPT_MS, ROWS_SWEPT_MAX);
          await deleteOldCalls(sql, 2 * CALL_LIMIT.windowMs);
          await failInterrupted(sql, INTERRUPTED_MS);
          await deleteOldNotifications(sql, NOTIFICATIONS_KEPT_MS);
          // Also delete texts kept before the operator switched this off.
          await deleteOldQuestions(sql, keepsQuestions ? QUESTIONS_KEPT_MS : 0, ROWS_SWEPT_MAX);
          await deleteOldCounts(sql, COUNTED_DAYS_MAX);
        },
      },
    ],
    close: () => senders.close(),
  };
}
