import type { Plan } from '../access/caller.ts';
import { type AnswerContext, answerQuestion, wholeAnswer } from '../answers/answer-question.ts';
import { citedPassages } from '../answers/render-sources.ts';
import type { Answer, AnswerPassage } from '../answers/schema.ts';
import { runWithin } from '../platform/deadline.ts';
import type { Logger } from '../platform/logger.ts';
import { type RateLimiter, takeRequest } from '../usage/rates.ts';
import { citedAnswerReply } from './compose-reply.ts';
import type { ReplyLanguage } from './phrases.ts';
import { type AnsweredChannel, type AnswerTime, channelCaller } from './retrieve-passages.ts';
import type { AnswerReply } from './schema.ts';

/** Time reserved for the reply after stopping the model. */
const MARGIN_MS = 200;

export interface CitedContext {
  readonly answers: AnswerContext;
  readonly rates: RateLimiter;
  readonly logger: Logger;
}

/** Reply written by a chat model, with the documents that it cites. */
interface CitedReply {
  readonly reply: AnswerReply;
  readonly documentIds: readonly string[];
}

/**
 * Have the chat model answer a question from the channel's bucket. Return null if there is no model, or if it is late,
 * fails or cites nothing: the reply then consists of passages. Never throw.
 */
export async function citedReply(
  { answers, rates, logger }: CitedContext,
  { channel, plan }: { readonly channel: AnsweredChannel; readonly plan: Plan },
  question: { readonly text: string; readonly language: ReplyLanguage },
  { startMs, deadlineMs }: AnswerTime,
): Promise<CitedReply | null> {
  const leftMs = Math.floor(startMs + deadlineMs - performance.now() - MARGIN_MS);
  if (answers.chat === null || leftMs <= 0) return null;
  const caller = channelCaller(channel, plan);
  const { collection: bucket, bucket_collection: collection } = channel.config;
  const asked = { query: question.text, buckets: [bucket], collection, assistant: undefined, history: [] };
  const more = { filter: undefined, top_k: undefined, style: 'short', origin: null } as const;
  try {
    await takeRequest(rates, caller, 'answers');
    const answer = await runWithin(leftMs, undefined, (signal) =>
      wholeAnswer(answerQuestion(answers, caller, { ...asked, ...more }, signal)),
    );
    return toReply(answer, question.language);
  } catch (error) {
    const isLate = (error as Error).name === 'TimeoutError';
    logger[isLate ? 'debug' : 'warn']({ err: error, channel: channel.id }, 'the chat model gave a channel no answer');
    return null;
  }
}

function toReply(answer: Answer, language: ReplyLanguage): CitedReply | null {
  const cited = citedPassages(answer);
  if (answer.status !== 'answered' || cited.length === 0) return null;
  const documentIds = cited.map(({ document_id: id }: AnswerPassage) => id);
  return { reply: citedAnswerReply(answer.answer, cited, language), documentIds };
}
