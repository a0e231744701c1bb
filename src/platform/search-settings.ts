import { z } from 'zod';

const MIB = 1024 * 1024;

export const searchSettings = {
  search: z
    .strictObject({
      resident_mb: z
        .int()
        .min(0)
        .max(65_536)
        .default(1_024)
        .describe(
          'memory for copies of the search indexes that are in use, and a tenth of it more for the facts of their documents; 0: none',
        ),
      table_cache_mb: z
        .int()
        .min(64)
        .max(65_536)
        .default(1_024)
        .describe(
          'memory for the indexes of large buckets that are not held as copies; a bucket of 1,000,000 chunks needs at least 500',
        ),
      result_links: z
        .enum(['console', 'signed'])
        .default('console')
        .describe(
          'addresses of results: console: page of the console, for people who can sign in; signed: page that opens without sign-in for one hour',
        ),
    })
    .prefault({})
    .describe('searches'),
};

type SearchFile = z.output<z.ZodObject<typeof searchSettings>>;

export interface SearchSettings {
  readonly residentBytes: number;
  readonly tableCacheBytes: number;
  readonly resultLinks: 'console' | 'signed';
}

/** Convert the settings of the file to those that the program uses. */
export function searchConfigOf({ search }: SearchFile): { search: SearchSettings } {
  return {
    search: {
      residentBytes: search.resident_mb * MIB,
      tableCacheBytes: search.table_cache_mb * MIB,
      resultLinks: search.result_links,
    },
  };
}
