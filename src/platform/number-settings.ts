import { z } from 'zod';

/** Bounds and default of a number in the settings. `above` is a bound that the number must exceed. */
interface NumberBounds {
  readonly min?: number;
  readonly above?: number;
  readonly max?: number;
  readonly default: number;
}

/** Create the schema of a number with a default. */
export function numberSetting(bounds: NumberBounds, description: string) {
  return bounded(z.number(), bounds).default(bounds.default).describe(description);
}

/** Create the schema of an integer with a default. */
export function integerSetting(bounds: NumberBounds, description: string) {
  return bounded(z.number().int(), bounds).default(bounds.default).describe(description);
}

function bounded(schema: z.ZodNumber, { min, above, max }: NumberBounds): z.ZodNumber {
  const from = above === undefined ? schema : schema.gt(above);
  const between = min === undefined ? from : from.min(min);
  return max === undefined ? between : between.max(max);
}
