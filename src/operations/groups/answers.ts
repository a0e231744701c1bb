import { z } from 'zod';
import { AnswerFailure } from '../../answers/answer-errors.ts';
import { answerQuestion } from '../../answers/answer-question.ts';
import { selectRated } from '../../answers/answer-store.ts';
import { AssistantRequest, viewAssistant } from '../../answers/assistant-schema.ts';
import * as assistants from '../../answers/assistants.ts';
import { type AnswerEvent, AnswerRequest, RatingRequest } from '../../answers/schema.ts';
import { jsonLines } from '../json-lines.ts';
import { forOrganization, WithBody } from '../operation.ts';
import { renderFailure } from '../wire.ts';

/** Line in the body of `ask`: a part of the answer, or the error that ended it. */
export type AskLine = AnswerEvent | ReturnType<typeof renderFailure>;

/** Answer a question. The body contains the parts of the answer, one per line. */
export const ask = forOrganization(
  z.object(AnswerRequest.shape),
  async (request, { appliance, operator, signal }) => {
    const asked = { ...AnswerRequest.parse(request), origin: appliance.config.baseUrl };
    const answer = (ended: AbortSignal) => lines(answerQuestion(appliance.answers, operator, asked, ended));
    return new WithBody({}, jsonLines(answer, signal));
  },
  ['answers'],
);

async function* lines(events: AsyncIterable<AnswerEvent>): AsyncGenerator<AskLine, void> {
  try {
    yield* events;
  } catch (error) {
    yield renderFailure(error instanceof AnswerFailure ? error.cause : error);
  }
}

export const ratings = forOrganization(
  z.object({ rating: RatingRequest.shape.rating.optional(), limit: z.int().min(1).max(1_000) }),
  ({ rating, limit }, { appliance, operator }) => selectRated(appliance.sql, operator, { rating, limit }),
);

export const listAssistants = forOrganization(z.object({}), async (_, { appliance, operator }) =>
  (await assistants.listAssistants(appliance.sql, operator)).map(viewAssistant),
);

export const createAssistant = forOrganization(AssistantRequest, async (request, { appliance, operator }) =>
  viewAssistant(await assistants.createAssistant(appliance.sql, operator, request)),
);

export const deleteAssistant = forOrganization(
  z.object({ assistant: z.string().min(1) }),
  async ({ assistant }, { appliance, operator }) => {
    await assistants.deleteAssistant(appliance.sql, operator, assistant);
    return { deleted: true };
  },
);
