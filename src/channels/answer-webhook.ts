import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { awaitLater } from '../platform/await-later.ts';
import { AppError } from '../platform/errors.ts';
import { countingRefusals } from './answer-delivery.ts';
import { answerQuestion, type Question } from './answer-question.ts';
import { phraseReply } from './compose-reply.ts';
import { selectConfigWithPlan } from './config-store.ts';
import { readConfig } from './configs.ts';
import { isAtOrigin } from './later/call-platform.ts';
import { answerTime, type LaterContext, type LaterSender } from './later/later-sender.ts';
import { linkReply } from './link-reply.ts';
import type { AskedQuestion, LaterReplies, Messenger, RawDelivery } from './messengers/messenger.ts';
import { MESSENGERS } from './messengers/messengers.ts';
import { languageOf } from './phrases.ts';
import type { AnswerConfig, AnswerReply } from './schema.ts';
import type { VerifierContext } from './verify-delivery.ts';

/** Delivery from a platform, with the configuration from its path. */
export interface WebhookDelivery extends RawDelivery {
  readonly provider: string;
  readonly configId: string;
}

export interface WebhookContext extends LaterContext, Pick<VerifierContext, 'parseJson'> {
  readonly sender: LaterSender;
  /** Time limit for a response. */
  readonly deadlineMs: number;
}

type Verified = Awaited<ReturnType<typeof verify>>;

/**
 * Verify a delivery from a platform, and answer it in the platform's format: in the response, or in a later call if the
 * platform accepts one.
 *
 * @throws AppError 403 for a delivery that isn't from the platform, 400 for a body that isn't a JSON object
 */
export async function answerWebhook(
  context: WebhookContext,
  delivery: WebhookDelivery,
  signal: AbortSignal,
): Promise<object> {
  const startMs = performance.now();
  const messenger = MESSENGERS.get(delivery.provider);
  if (messenger === undefined) throw new TypeError(`no route must exist for ${delivery.provider}`);
  const verified = await countingRefusals(context.metrics, () => verify(context, messenger, delivery));
  const json = await context.parseJson(delivery.bytes, signal);
  const asked = messenger.readQuestions(json);
  const [first] = asked;
  if (first === undefined) return messenger.toNothing(json);
  const { config } = verified;
  const later = laterOf(context, verified, first);
  const language = languageOf(first.text);
  if (later?.when(config) === 'always') {
    for (const each of asked) await replyLater(context, verified, each, startMs, null);
    return later.acknowledge(config, language);
  }
  const question = toQuestion(verified, first);
  const { deadlineMs } = context;
  const time = later === null ? { startMs, deadlineMs } : answerTime(startMs, later.limitMs);
  const answering = awaitLater(answerQuestion(context, question, time));
  const reply = await untilLate(answering, startMs + deadlineMs);
  if (reply === null && later !== null) {
    await replyLater(context, verified, first, startMs, { question, answering });
    return later.acknowledge(config, language);
  }
  const linked = linkReply(context, question, reply ?? phraseReply('too_slow', language));
  return messenger.toResponse(linked, json, config);
}

/** Return how to reply later, or null if the reply must be the response. */
function laterOf(
  { platforms, logger }: WebhookContext,
  { messenger, config, row }: Verified,
  { replyTo }: AskedQuestion,
): LaterReplies<AnswerConfig> | null {
  const { later } = messenger;
  if (later === null || replyTo === null || later.when(config) === 'never') return null;
  const url = later.urlOf(replyTo, platforms).reveal();
  if (isAtOrigin(url, later.origins(platforms))) return later;
  const origin = URL.canParse(url) ? new URL(url).origin : null;
  logger.warn({ channel: row.id, origin }, 'a delivery wants its reply at an origin that the settings do not list');
  return null;
}

/** Wait for an answer until a time by `performance.now()`. Return null if it is late. */
async function untilLate(answering: Promise<AnswerReply>, endMs: number): Promise<AnswerReply | null> {
  const timer = new AbortController();
  const late = delay(Math.max(0, endMs - performance.now()), null, { signal: timer.signal });
  try {
    return await Promise.race([answering, awaitLater(late)]);
  } finally {
    timer.abort();
  }
}

/** @param begun answer in progress; null if not started */
async function replyLater(
  { sender }: WebhookContext,
  verified: Verified,
  asked: AskedQuestion,
  startMs: number,
  begun: { readonly question: Question; readonly answering: Promise<AnswerReply> } | null,
): Promise<void> {
  const { provider, later } = verified.messenger;
  if (later === null || asked.replyTo === null) return;
  await sender.accept({
    provider,
    question: begun?.question ?? toQuestion(verified, asked),
    replyTo: asked.replyTo,
    limitMs: later.limitMs - (performance.now() - startMs),
    answering: begun?.answering ?? null,
  });
}

function toQuestion({ row, config }: Verified, { deliveryId, text }: AskedQuestion): Question {
  const { id, orgId, name, plan } = row;
  const digest = deliveryId === null ? randomBytes(32) : createHash('sha256').update(deliveryId).digest();
  return { channel: { id, orgId, name, config }, plan, bot: id, digest, utterance: text };
}

/** Verify a delivery. Refuse an unknown configuration in the same way as a wrong secret. */
async function verify({ sql, keyRing }: WebhookContext, messenger: Messenger, delivery: WebhookDelivery) {
  const row = await selectConfigWithPlan(sql, delivery.configId, messenger.provider);
  const stored = row === null ? undefined : messenger.config.safeParse(readConfig(keyRing, row)).data;
  // Compare with a random secret if there is no configuration, so that the response time is the same.
  const config = stored ?? nobodysConfig(messenger);
  const isGenuine = messenger.isGenuine(delivery, config, Date.now());
  if (row !== null && stored !== undefined && isGenuine) return { messenger, row, config: stored };
  throw new AppError({
    code: 'signature_invalid',
    status: 403,
    message: 'the address is unknown, or the delivery does not come from the platform',
    details: { channel: row?.id ?? null },
  });
}

function nobodysConfig(messenger: Messenger): AnswerConfig {
  const secret = randomBytes(24).toString('hex');
  return messenger.config.parse({ collection: 'none', secret, access_token: secret, bot_token: `xoxb-${secret}` });
}
