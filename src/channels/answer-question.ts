import type { Plan } from '../access/caller.ts';
import { isAnyUnreadable } from '../documents/hidden-among-store.ts';
import { graphemeCut } from '../language/graphemes.ts';
import type { RateLimiter } from '../usage/rates.ts';
import type { CallLog } from './call-log.ts';
import type { ChannelMetrics } from './channel-metrics.ts';
import { type CitedContext, citedReply } from './cited-reply.ts';
import { phraseReply, resultsReply } from './compose-reply.ts';
import { toOneLine } from './excerpt.ts';
import { languageOf, type ReplyLanguage } from './phrases.ts';
import type { ReplyOnce } from './reply-once.ts';
import {
  type AnsweredChannel,
  type AnswerTime,
  channelCaller,
  type RetrievalContext,
  retrievePassages,
} from './retrieve-passages.ts';
import type { AnswerReply, DeliveryOutcome } from './schema.ts';
import type { RecordUnanswered } from './unanswered-questions.ts';

/** Maximum length of an utterance to use as the query, from its start. */
const QUESTION_CHARS_MAX = 1000;

export interface AnswerContext extends RetrievalContext, CitedContext {
  readonly replies: ReplyOnce;
  readonly calls: CallLog;
  /** Request rates of organizations. Every delivery that needs a search counts as one search request. */
  readonly rates: RateLimiter;
  readonly metrics: ChannelMetrics;
  readonly recordUnanswered: RecordUnanswered;
}

/** Question from a verified delivery. */
export interface Question {
  readonly channel: AnsweredChannel;
  readonly plan: Plan;
  /** Name of the bot, which has one rate limit. */
  readonly bot: string;
  readonly utterance: string;
  /** SHA-256 that repeated deliveries share. */
  readonly digest: Buffer;
}

interface Answer {
  readonly reply: AnswerReply;
  readonly outcome: DeliveryOutcome;
  /** Documents that the reply quotes. */
  readonly documentIds?: readonly string[];
}

/**
 * Answer a question from the channel's bucket. A repeated delivery gets the same reply without another search, and
 * doesn't count towards the rate limit. After the time limit, the reply is an apology.
 */
export async function answerQuestion(
  context: AnswerContext,
  question: Question,
  time: AnswerTime,
): Promise<AnswerReply> {
  const { metrics } = context;
  const { startMs, deadlineMs } = time;
  const { channel, digest, bot } = question;
  const language = languageOf(question.utterance);
  let outcome: DeliveryOutcome | 'replayed' = 'replayed';
  const waitMs = Math.max(0, startMs + deadlineMs - performance.now());
  const reader = channelCaller(channel, question.plan);
  const once = await context.replies.reply({ configId: channel.id, digest }, waitMs, {
    async make() {
      const answer = await makeAnswer(context, question, language, time);
      outcome = answer.outcome;
      if (outcome === 'nothing_found') await context.recordUnanswered(channel, questionOf(question.utterance));
      return { documentIds: [], ...answer, isKept: answer.outcome !== 'rate_limited' };
    },
    mayRepeat: async (documentIds) => !(await isAnyUnreadable(context.search.sql, reader, documentIds)),
  });
  if (once === null) outcome = 'too_slow';
  metrics.delivered({ id: channel.id, bot }, outcome, (performance.now() - startMs) / 1000);
  return once?.reply ?? phraseReply('too_slow', language);
}

async function makeAnswer(
  context: AnswerContext,
  { channel, plan, bot, utterance }: Question,
  language: ReplyLanguage,
  time: AnswerTime,
): Promise<Answer> {
  if (!(await context.calls.take(channel.orgId, bot))) {
    return { reply: phraseReply('too_many', language), outcome: 'rate_limited' };
  }
  const question = questionOf(utterance);
  if (question === '') return { reply: phraseReply('no_question', language), outcome: 'no_question' };
  const rate = await context.rates.take({ orgId: channel.orgId, plan }, 'search');
  if (rate !== null && !rate.allowed) return { reply: phraseReply('too_many', language), outcome: 'rate_limited' };
  const cited = citedReply(context, { channel, plan }, { text: question, language }, time);
  const retrieval = await retrievePassages(context, { channel, plan }, question, time);
  switch (retrieval.kind) {
    case 'found': {
      const reply = resultsReply(retrieval.results, question, language);
      const documentIds = retrieval.results.map(({ document_id }) => document_id);
      if (reply !== null) return { outcome: 'answered', ...((await cited) ?? { reply, documentIds }) };
      return { reply: phraseReply('nothing_found', language), outcome: 'nothing_found' };
    }
    case 'late':
      context.metrics.failed(channel.id, 'deadline');
      return { reply: phraseReply('too_slow', language), outcome: 'too_slow' };
    default:
      context.metrics.failed(channel.id, retrieval.reason);
      return { reply: phraseReply('unavailable', language), outcome: 'unavailable' };
  }
}

function questionOf(utterance: string): string {
  // Truncate first, to bound the cost of a huge utterance.
  const head = utterance.slice(0, graphemeCut(utterance, QUESTION_CHARS_MAX));
  return toOneLine(head);
}
