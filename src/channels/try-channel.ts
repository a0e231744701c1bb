import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { answerQuestion } from './answer-question.ts';
import { findAnswered } from './configs.ts';
import { checkCredential } from './later/check-credential.ts';
import type { LaterContext } from './later/later-sender.ts';
import { textOf } from './messengers/messenger.ts';

/** Body of `POST /v1/channels/configs/{config}/test`. */
export const TryRequest = z.object({
  query: z.string().trim().min(1, 'must not be empty').max(1000).describe('text that a person would write'),
});
export type TryRequest = z.output<typeof TryRequest>;

export const TryReply = z
  .object({
    text: z.string().describe('text of the reply'),
    credential: z
      .object({
        status: z.enum(['accepted', 'refused', 'unknown']),
        reason: z.string().nullable(),
      })
      .nullable()
      .describe('what the platform says about the credential of replies; null if replies need none'),
  })
  .meta({ id: 'ChannelTest' });
export type TryReply = z.output<typeof TryReply>;

/**
 * Answer a question like a channel, but without its platform. Ask the platform whether it accepts the credential.
 *
 * @throws AppError `channel_configuration_not_found` (404), `provider_not_supported` (409),
 *   `channel_config_invalid` (400)
 */
export async function tryChannel(
  context: LaterContext & { readonly deadlineMs: number },
  caller: Pick<Caller, 'orgId' | 'plan'>,
  id: string,
  { query }: TryRequest,
): Promise<TryReply> {
  const startMs = performance.now();
  const { channel, bot, messenger } = await findAnswered(context, caller.orgId, id);
  const asked = { channel, plan: caller.plan, bot, digest: randomBytes(32), utterance: query };
  const [reply, credential] = await Promise.all([
    answerQuestion(context, asked, { startMs, deadlineMs: context.deadlineMs }),
    messenger === null ? null : checkCredential(context.platforms, messenger, channel.config),
  ]);
  return { text: textOf(reply), credential };
}
