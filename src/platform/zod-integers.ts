import { z } from 'zod';

/**
 * Accept a number, or an integer in decimal digits, as in query parameters and multipart fields. Other forms that
 * JavaScript reads as numbers (`0x10`, `1e1`, `+5`, ` 5`) remain strings, which `schema` refuses.
 */
export function textInteger<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value), schema);
}
