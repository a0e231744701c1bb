import type { z } from 'zod';
import { invalidRequest } from '../platform/errors.ts';
import { mostTelling, PARSE_OPTIONS } from '../platform/zod-faults.ts';
import { typedName } from './name-fault.ts';

/**
 * Validate a request built from flags and arguments with the schema of the operation. An error names the flag or
 * argument as the user types it.
 *
 * @param args fields given as arguments, with their names in the help; all others are flags
 * @throws AppError `invalid_request` (400)
 */
export function parseRequest<T extends z.ZodType>(
  schema: T,
  request: unknown,
  args: Readonly<Record<string, string>> = {},
): z.output<T> {
  const parsed = schema.safeParse(request, PARSE_OPTIONS);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const { message, path } = issue ? mostTelling(issue) : { message: 'is not valid', path: [] };
  const [field, ...inside] = path;
  if (field === undefined) throw invalidRequest(message);
  throw invalidRequest(`${typedName(field, inside, args)}: ${message}`, String(field));
}
