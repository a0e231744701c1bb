import { z } from 'zod';
import { AnswerFailure } from '../../src/answers/answer-errors.ts';
import { type AnswerContext, answerQuestion, wholeAnswer } from '../../src/answers/answer-question.ts';
import { selectAnswer } from '../../src/answers/answer-store.ts';
import { Answer, type AnswerEvent, AnswerRequest } from '../../src/answers/schema.ts';
import { AppError, notFound } from '../../src/platform/errors.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { eventStreamReply, renderEvent } from '../event-stream.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';
import { EMBEDDING_REFUSALS } from './embeddings.ts';

/** History of a conversation is longer than the bodies of other questions. */
const BODY_BYTES_MAX = 16 * SMALL_BODY_BYTES_MAX;

/** A failure of the model after the search shows the passages that were found. */
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

/** Make the routes of answers with their sources. */
export function answerRoutes(context: AnswerContext): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/answers',
      operationId: 'answerQuestion',
      summary: 'Answer a question from the passages of buckets, with citations',
      access: 'search',
      streams: true,
      errors: 'detail',
      reads: 'json',
      bodyLimitBytes: BODY_BYTES_MAX,
      axis: () => 'answers',
      // It mostly waits for the chat model, on which organizations take turns.
      capacity: 'none',
      body: AnswerRequest,
      responses: {
        200: {
          description:
            'The answer; with `stream`, server-sent events: `passages`, `text` (parts of the answer), and `end` (the answer) or `error`',
          schema: Answer,
          otherMediaType: 'text/event-stream',
        },
        502: { description: 'The model failed; the passages that were found', schema: FailedAnswer },
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
      summary: 'An answer that was given to this caller, with its passages, while the installation keeps it',
      access: 'search',
      errors: 'detail',
      reads: 'none',
      params: z.object({ answer: z.string().min(1).max(200) }),
      responses: { 200: { description: 'The answer', schema: Answer } },
      refusals: [404],
      async handle({ caller, params, signal }) {
        const answer = await selectAnswer(reportQueries(context.sql, signal), caller, params.answer);
        if (answer === null) throw notFound('answer', params.answer);
        return { body: answer };
      },
    }),
  ];
}

/** Wait for the first event, so that a refusal before it is the reply. */
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
