import type { z } from 'zod';
import { invalidRequest } from '../platform/errors.ts';

/**
 * Check the input of an operation.
 *
 * @throws AppError `invalid_request` (400) that names the field of the first fault
 */
export function parseInput<T extends z.ZodType>(schema: T, input: z.input<T>): z.output<T> {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const param = issue?.path.join('.') || null;
  throw invalidRequest(`${param ?? 'input'}: ${issue?.message ?? 'is not valid'}`, param);
}
