import { AppError } from '../platform/errors.ts';

/** Field in errors of the embedder: `input`, or one text of it, `input[3]`. */
const INPUT = /^input(?=$|\[)/;

/**
 * Rewrite an embedder error about a text so that it names the request's field instead of `input`.
 *
 * @param describe name of a place in the message; by default the place itself
 */
export function nameField(error: unknown, field: string, describe = (place: string) => place): unknown {
  if (!(error instanceof AppError) || error.param === null || !INPUT.test(error.param)) return error;
  const param = error.param.replace(INPUT, field);
  // The message names one text by its place, or all texts by a word of its sentence.
  const message = param === field ? error.message : error.message.replaceAll(error.param, describe(param));
  return renamed(error, param, message);
}

/** Rewrite an embedder error about the first text of a request whose `input` is that text, not a list. */
export function nameOnlyText(error: unknown): unknown {
  if (!(error instanceof AppError) || error.param !== 'input[0]') return error;
  return renamed(error, 'input', error.message.replaceAll('input[0]', 'input'));
}

function renamed(error: AppError, param: string, message: string): AppError {
  const { code, status, details, retryable } = error;
  return new AppError({ code, status, message, param, retryable, cause: error, ...(details && { details }) });
}
