import { AnswerFailure } from '../../src/answers/answer-errors.ts';
import { type AnswerContext, answerQuestion, wholeAnswer } from '../../src/answers/answer-question.ts';
import {
  ChatCompletion,
  ChatCompletionRequest,
  CompletionChunks,
  modelNotFound,
  questionOf,
  toCompletion,
} from '../../src/answers/chat-completions.ts';
import type { AnswerEvent, AnswerStart } from '../../src/answers/schema.ts';
import { AppError } from '../../src/platform/errors.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { eventStreamReply, renderEvent } from '../event-stream.ts';
import { defineRoute, type Route } from '../route.ts';
import { EMBEDDING_REFUSALS } from './embeddings.ts';

const BODY_BYTES_MAX = 64 * SMALL_BODY_BYTES_MAX;

/** Create the route by which clients of OpenAI's chat API talk to a bucket or an assistant. */
export function chatCompletionRoutes(context: AnswerContext): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/chat/completions',
      whileMoving: true,
      operationId: 'createChatCompletion',
      summary: "Answer a question from the passages of a bucket, in the shape of OpenAI's chat completions",
      access: 'search',
      streams: true,
      errors: 'embedding',
      bodyLimitBytes: BODY_BYTES_MAX,
      axis: () => 'answers',
      // It mostly waits for the chat model, where organizations take turns.
      capacity: 'none',
      body: ChatCompletionRequest,
      responses: {
        200: {
          description: 'The answer; with `stream`, chunks as server-sent events',
          schema: ChatCompletion,
          otherMediaType: 'text/event-stream',
        },
      },
      refusals: [...EMBEDDING_REFUSALS, 404, 409],
      async handle({ caller, body, origin, recheck, signal }) {
        const asked = { ...questionOf(body), filter: undefined, top_k: undefined, style: 'normal' as const, origin };
        const events = answerQuestion(context, caller, asked, signal);
        try {
          if (body.stream === true) return eventStreamReply(render(await begun(events), body), recheck);
          return { body: toCompletion(body.model, await wholeAnswer(events)) };
        } catch (error) {
          throw inOpenAiTerms(error, body.model);
        }
      },
    }),
  ];
}

/** Answer that has begun: the model has written its first words. */
interface Begun {
  readonly start: AnswerStart;
  readonly first: AnswerEvent;
  readonly rest: AsyncGenerator<AnswerEvent, void>;
}

/** Wait for the first words, so that an earlier failure of the model becomes the reply. */
async function begun(events: AsyncGenerator<AnswerEvent, void>): Promise<Begun> {
  const start = await events.next();
  const first = await events.next();
  if (start.done || start.value.kind !== 'passages' || first.done)
    throw new TypeError('an answer begins with passages');
  return { start: start.value.start, first: first.value, rest: events };
}

async function* render({ start, first, rest }: Begun, request: ChatCompletionRequest): AsyncGenerator<string, void> {
  const chunks = new CompletionChunks(start.id, request);
  const toChunks = (event: AnswerEvent) => {
    if (event.kind === 'text') return [chunks.text(event.text)];
    return event.kind === 'end' ? chunks.end(event.answer) : [];
  };
  try {
    yield renderEvent(chunks.begin());
    for (const chunk of toChunks(first)) yield renderEvent(chunk);
    for await (const event of rest) for (const chunk of toChunks(event)) yield renderEvent(chunk);
    yield 'data: [DONE]\n\n';
  } finally {
    await rest.return();
  }
}

/** Report an unknown bucket or assistant as an unknown model, as the client sees it. */
function inOpenAiTerms(error: unknown, model: string): unknown {
  if (error instanceof AnswerFailure) return error.cause;
  const isUnknown = error instanceof AppError && ['bucket_not_found', 'assistant_not_found'].includes(error.code);
  return isUnknown ? modelNotFound(model) : error;
}
