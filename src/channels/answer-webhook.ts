import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '../platform/errors.ts';
import { countingRefusals } from './answer-delivery.ts';
import { type AnswerContext, answerQuestion } from './answer-question.ts';
import { selectConfigWithPlan } from './config-store.ts';
import { type ConfigContext, readConfig } from './configs.ts';
import type { Messenger, RawDelivery } from './messengers/messenger.ts';
import { MESSENGERS } from './messengers/messengers.ts';
import type { AnswerConfig } from './schema.ts';
import type { VerifierContext } from './verify-delivery.ts';

/** Delivery of a platform, and the configuration that its path names. */
export interface WebhookDelivery extends RawDelivery {
  readonly provider: string;
  readonly configId: string;
}

type WebhookContext = AnswerContext & ConfigContext & Pick<VerifierContext, 'parseJson'>;

/**
 * Verify a delivery of a platform, and answer it in the form of the platform.
 *
 * @throws AppError 403 for a delivery that does not come from the platform, 400 for a body that is no JSON object
 */
export async function answerWebhook(
  context: WebhookContext,
  delivery: WebhookDelivery,
  signal: AbortSignal,
): Promise<object> {
  const startMs = performance.now();
  const messenger = MESSENGERS.get(delivery.provider);
  if (messenger === undefined) throw new TypeError(`no route must exist for ${delivery.provider}`);
  const { row, config } = await countingRefusals(context.metrics, () => verify(context, messenger, delivery));
  const json = await context.parseJson(delivery.bytes, signal);
  const asked = messenger.readQuestion(json);
  if (asked === null) return messenger.nothing;
  const { id, orgId, name, plan } = row;
  const { deliveryId, text: utterance } = asked;
  const digest = deliveryId === null ? randomBytes(32) : createHash('sha256').update(deliveryId).digest();
  const channel = { id, orgId, name, config };
  const reply = await answerQuestion(context, { channel, plan, bot: id, digest, utterance }, startMs);
  return messenger.toResponse(reply, json);
}

/** An unknown configuration is refused as a wrong secret is. */
async function verify({ sql, keyRing }: WebhookContext, messenger: Messenger, delivery: WebhookDelivery) {
  const row = await selectConfigWithPlan(sql, delivery.configId, messenger.provider);
  const stored = row === null ? undefined : messenger.config.safeParse(readConfig(keyRing, row)).data;
  // Without a configuration, the delivery is compared with a secret that nobody knows, so that the time is the same.
  const config = stored ?? nobodysConfig(messenger);
  const isGenuine = messenger.isGenuine(delivery, config);
  if (row !== null && stored !== undefined && isGenuine) return { row, config: stored };
  throw new AppError({
    code: 'signature_invalid',
    status: 403,
    message: 'the address is unknown, or the delivery does not come from the platform',
    details: { channel: row?.id ?? null },
  });
}

function nobodysConfig(messenger: Messenger): AnswerConfig {
  return messenger.config.parse({ collection: 'none', secret: randomBytes(24).toString('hex') });
}
