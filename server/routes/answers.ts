import { z } from 'zod';
import { AnswerFailure } from '../../src/answers/answer-errors.ts';
import { type AnswerContext, answerQuestion, wholeAnswer } from '../../src/answers/answer-question.ts';
import { rateAnswer, selectAnswer, selectRated } from '../../src/answers/answer-store.ts';
import { Answer, type AnswerEvent, AnswerRequest, RatedAnswer, RatingRequest } from '../../src/answers/schema.ts';
import type { SearchLog } from '../../src/insight/log/search-log.ts';
import { AppError, notFound } from '../../src/platform/errors.ts';
import { textInteger } from '../../src/platform/zod-integers.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { eventStreamReply, renderEvent } from '../event-stream.ts';
import { editQueries, reportQueries } from '../limited-queries.ts';
import { pageSchema } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';
import { EMBEDDING_REFUSALS } from './embeddings.ts';

const RATINGS_MAX = 1_000;
/** Maximum body size. The history of a conversation is longer than the bodies of other questions. */
const BODY_BYTES_MAX = 16 * SMALL_BODY_BYTES_MAX;

const AnswerParams = z.object({ answer: z.string().min(1).max(200) });
const RatingsQuery = z.object({
  rating: RatingRequest.shape.rating.optional(),
  limit: textInteger(z.int().min(1).max(RATINGS_MAX).default(50)),
});

/** Answer after a failure of the model: the passages found. */
const FailedAnswer = Answer.pick({
  id: true,
  searched: true,
  passages: true,
  relevance: true,
  relevance_score: true,
  warnings: true,
})
  .partial()
  .extend({ detail: z.string() });

/** Create the routes of answers with their sources. */
export function answerRoutes(context: AnswerContext, log: Pick<SearchLog, 'rated'>): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/answers',
      whileMoving: true,
      operationId: 'answerQuestion',
      summary: 'Answer a question from the passages of buckets, with citations',
      access: 'search',
      streams: true,
      bodyLimitBytes: BODY_BYTES_MAX,
      axis: () => 'answers',
      // It mostly waits for the chat model, where organizations take turns.
      capacity: 'none',
      body: AnswerRequest,
      responses: {
        200: {
          description:
            'The answer; with `stream`, server-sent events: `passages`, `text` (parts of the answer), and `end` (the answer) or `error`',
          schema: Answer,
          otherMediaType: 'text/event-stream',
        },
        502: {
          description: 'The model failed; the response has the passages that the search found',
          schema: FailedAnswer,
        },
      },
      refusals: [...EMBEDDING_REFUSALS, 404, 409],
      async handle({ caller, body, origin, recheck, signal }) {
        const events = answerQuestion(context, caller, { ...body, origin }, signal);
        if (body.stream) return eventStreamReply(render(await begun(events)), recheck);
        try {
          return { body: await wholeAnswer(events) };
        } catch (error) {
          if (!(error instanceof AnswerFailure)) throw error;
          return { status: error.cause.status, body: { detail: error.message, ...error.start } };
        }
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/answers/:answer',
      operationId: 'getAnswer',
      summary: 'An earlier answer to this caller with its passages, as long as the installation keeps it',
      access: 'search',
      params: AnswerParams,
      responses: { 200: { description: 'The answer', schema: Answer } },
      refusals: [404],
      async handle({ caller, params, signal }) {
        const answer = await selectAnswer(reportQueries(context.sql, signal), caller, params.answer);
        if (answer === null) throw notFound('answer', params.answer);
        return { body: answer };
      },
    }),
    defineRoute({
      method: 'PUT',
      path: '/v1/answers/:answer/rating',
      operationId: 'rateAnswer',
      summary: 'Rate an earlier answer to this caller; a second rating replaces the first',
      access: 'search',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params: AnswerParams,
      body: RatingRequest,
      responses: { 204: { description: 'Rated' } },
      refusals: [404],
      async handle({ caller, params, body }) {
        const rated = await rateAnswer(editQueries(context.sql), caller, params.answer, body);
        if (rated === null) throw notFound('answer', params.answer);
        if (rated.searchId !== null) log.rated(caller.orgId, rated.searchId, body.rating === 'up');
        return { status: 204 };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/answer_ratings',
      operationId: 'listAnswerRatings',
      summary: 'Rated answers of the organization, the latest rating first, as long as the installation keeps them',
      access: 'buckets:manage',
      query: RatingsQuery,
      responses: { 200: { description: 'Rated answers', schema: pageSchema(RatedAnswer) } },
      async handle({ caller, query, signal }) {
        const data = await selectRated(reportQueries(context.sql, signal), caller, query);
        return { body: { object: 'list', data, has_more: false, next_cursor: null } };
      },
    }),
  ];
}

/** Wait for the first event, so that an earlier refusal becomes the reply. */
async function begun(events: AsyncGenerator<AnswerEvent, void>): Promise<AsyncIterable<AnswerEvent>> {
  const first = await events.next();
  return (async function* () {
    try {
      if (!first.done) yield first.value;
      yield* events;
    } finally {
      await events.return();
    }
  })();
}

async function* render(events: AsyncIterable<AnswerEvent>): AsyncGenerator<string, void> {
  try {
    for await (const event of events) {
      if (event.kind === 'passages') yield renderEvent(event.start, 'passages');
      else if (event.kind === 'text') yield renderEvent({ text: event.text }, 'text');
      else yield renderEvent(event.answer, 'end');
    }
  } catch (error) {
    const fault = error instanceof AnswerFailure ? error.cause : error;
    if (!(fault instanceof AppError)) throw error;
    yield renderEvent({ code: fault.code, message: fault.message, retryable: fault.retryable }, 'error');
  }
}
