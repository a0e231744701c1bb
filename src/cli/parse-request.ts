import type { z } from 'zod';
import { invalidRequest } from '../platform/errors.ts';

/**
 * Validate a request built from flags and arguments with the schema of the operation. An error names the flag or the
 * argument as it is typed.
 *
 * @param args fields that are arguments, with the names that the help gives them; all others are flags
 * @throws AppError `invalid_request` (400)
 */
export function parseRequest<T extends z.ZodType>(
  schema: T,
  request: unknown,
  args: Readonly<Record<string, string>> = {},
): z.output<T> {
  const parsed = schema.safeParse(request);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const [field, ...inside] = issue?.path ?? [];
  if (field === undefined) throw invalidRequest(issue?.message ?? 'is not valid');
  const name = args[String(field)] ?? `--${String(field).replaceAll('_', '-')}`;
  const place = inside.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  throw invalidRequest(`${name}${place}: ${issue?.message}`, String(field));
}
