import { AppError } from '../platform/errors.ts';

/** Field that errors of the embedder name: `input`, or one text of it, `input[3]`. */
const INPUT = /^input(?=$|\[)/;

/**
 * Rewrite an error of the embedder about a text so that it names the field which the request has in place of `input`.
 *
 * @param describe name of a place in the message; by default the place itself
 */
export function nameField(error: unknown, field: string, describe = (place: string) => place): unknown {
  if (!(error instanceof AppError) || error.param === null || !INPUT.test(error.param)) return error;
  const param = error.param.replace(INPUT, field);
  // The message names one text by its place, and all of them by a word of its sentence.
  const message = param === field ? error.message : error.message.replaceAll(error.param, describe(param));
  return renamed(error, param, message);
}

/** Rewrite an error of the embedder about the first text of a request whose `input` is that text, and no list. */
export function nameOnlyText(error: unknown): unknown {
  if (!(error instanceof AppError) || error.param !== 'input[0]') return error;
  return renamed(error, 'input', error.message.replaceAll('input[0]', 'input'));
}

function renamed(error: AppError, param: string, message: string): AppError {
  const { code, status, details, retryable } = error;
  return new AppError({ code, status, message, param, retryable, cause: error, ...(details && { details }) });
}
