import { type AppError, conflict } from '../platform/errors.ts';
import type { AnswerStart } from './schema.ts';

/** Create the error (409) for an installation without a chat model. */
export function answersNotSet(): AppError {
  const example = '{protocol: openai, base_url: https://api.openai.com/v1, model: NAME}';
  return conflict(
    `no chat model is configured; ask the operator to add one to service.yaml: answers: ${example}`,
    'answers_not_set',
  );
}

/** Failure of the model before its first output. Callers show the passages, which were found, in place of an answer. */
export class AnswerFailure extends Error {
  override readonly name = 'AnswerFailure';
  readonly start: AnswerStart;
  /** Failure of the model. */
  override readonly cause: AppError;

  constructor(start: AnswerStart, cause: AppError) {
    super(cause.message);
    this.start = start;
    this.cause = cause;
  }
}
