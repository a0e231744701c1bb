import { z } from 'zod';

/**
 * Accept an integer in decimal digits, as query parameters and multipart fields have it, besides a number. Other forms
 * that JavaScript reads as numbers (`0x10`, `1e1`, `+5`, ` 5`) stay text, which `schema` refuses.
 */
export function textInteger<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (typeof value === 'string' && /^-?\d+$/.test(value) ? Number(value) : value), schema);
}
