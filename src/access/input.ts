import type { z } from 'zod';
import { invalidRequest } from '../platform/errors.ts';
import { mostTelling, PARSE_OPTIONS } from '../platform/zod-faults.ts';

/** Validate the input of an operation. @throws AppError `invalid_request` (400) that names the first invalid field */
export function parseInput<T extends z.ZodType>(schema: T, input: z.input<T>): z.output<T> {
  const parsed = schema.safeParse(input, PARSE_OPTIONS);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const { message, path } = issue ? mostTelling(issue) : { message: 'is not valid', path: [] };
  const param = path.join('.') || null;
  throw invalidRequest(`${param ?? 'input'}: ${message}`, param);
}
