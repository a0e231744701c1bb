import { AppError } from '../platform/errors.ts';

/** Field in embedder errors: `input`, or one of its texts, `input[3]`. */
const INPUT = /^input(?=$|\[)/;

/**
 * Rewrite an embedder error about a text so that it names the request's field instead of `input`.
 *
 * @param describe returns the message's name for a path; by default the path itself
 */
export function nameField(error: unknown, field: string, describe = (place: string) => place): unknown {
  if (!(error instanceof AppError) || error.param === null || !INPUT.test(error.param)) return error;
  const param = error.param.replace(INPUT, field);
  // The message names one text by its path, or all texts in its prose.
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
