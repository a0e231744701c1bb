import { AppError } from '../platform/errors.ts';
import { type AnswerContext, answerQuestion } from './answer-question.ts';
import type { ChannelMetrics } from './channel-metrics.ts';
import type { ChannelReply } from './schema.ts';
import type { IncomingDelivery, Verifier } from './verify-delivery.ts';

/**
 * Verify a delivery to the messenger webhook and answer it from the channel's bucket.
 *
 * @throws AppError 403 for a delivery that isn't from the messenger, 400 for one that can't be parsed
 */
export async function answerDelivery(
  context: AnswerContext & { readonly verifier: Verifier; readonly deadlineMs: number },
  incoming: IncomingDelivery,
  signal: AbortSignal,
): Promise<ChannelReply> {
  const startMs = performance.now();
  const verified = await countingRefusals(context.metrics, () => context.verifier.verify(incoming, signal));
  const { channel, plan, digest, delivery } = verified;
  const question = { channel, plan, digest, bot: delivery.bot_id, utterance: delivery.utterance };
  const { version, template } = await answerQuestion(context, question, { startMs, deadlineMs: context.deadlineMs });
  return { version, template };
}

/** Verify a delivery, and count refusals. */
export async function countingRefusals<T>(metrics: ChannelMetrics, verify: () => Promise<T>): Promise<T> {
  try {
    return await verify();
  } catch (error) {
    if (error instanceof AppError && error.status < 500) {
      const channel = error.details?.['channel'];
      metrics.refused(typeof channel === 'string' ? channel : null, error.code);
    }
    throw error;
  }
}
