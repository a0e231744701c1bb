import { z } from 'zod';

const PAIRS_MAX = 16;

/** Create the schema of a text that PostgreSQL can store. */
export function storableText(charsMax: number) {
  return (
    z
      .string()
      .max(charsMax)
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the database stores every character but this one
      .regex(/^[^\u0000]*$/, 'must not contain U+0000')
  );
}

/** Metadata of an object in OpenAI's API. */
export const Metadata = z
  .record(storableText(64), storableText(512))
  .refine((metadata) => Object.keys(metadata).length <= PAIRS_MAX, `takes up to ${PAIRS_MAX} pairs`)
  .meta({ maxProperties: PAIRS_MAX });
export type Metadata = z.output<typeof Metadata>;
