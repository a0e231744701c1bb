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
  const { code, status, details, retryable } = error;
  // The message names one text by its place, and all of them by a word of its sentence.
  const message = param === field ? error.message : error.message.replaceAll(error.param, describe(param));
  return new AppError({ code, status, message, param, retryable, cause: error, ...(details && { details }) });
}
