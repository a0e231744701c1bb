import { z } from 'zod';

const MIB = 1024 * 1024;

/** Schema of `search`. */
export const searchSettings = {
  search: z
    .strictObject({
      resident_mb: z
        .int()
        .min(0)
        .max(65_536)
        .default(512)
        .describe('memory for copies of the search indexes that are in use; 0: none'),
    })
    .prefault({})
    .describe('searches'),
};

type SearchFile = z.output<z.ZodObject<typeof searchSettings>>;

/** Settings of searches. */
export interface SearchSettings {
  readonly residentBytes: number;
}

/** Convert the settings of the file to those that the program uses. */
export function searchConfigOf({ search }: SearchFile): { search: SearchSettings } {
  return { search: { residentBytes: search.resident_mb * MIB } };
}
