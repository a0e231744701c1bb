import { z } from 'zod';
import type { JudgedQuery } from '../insight/tune-weights.ts';
import { invalidRequest } from '../platform/errors.ts';
import { readLines } from './read-lines.ts';

const Line = z.looseObject({
  query: z.string().min(1),
  relevant: z.union([z.array(z.string()).min(1), z.record(z.string(), z.number().positive())]),
});

const Query = Line.partial({ relevant: true });

/** Query of a file, with its relevant documents if it is judged. */
export type ReadQuery = Pick<z.output<typeof Query>, 'query' | 'relevant'>;

/**
 * Read judged queries, one `{"query": …, "relevant": …}` per line.
 *
 * @throws AppError `file_not_found` (404), `invalid_request` (400) that names the line
 */
export async function readJudgedQueries(file: string): Promise<JudgedQuery[]> {
  const wanted = '{"query": "…", "relevant": ["file name or document id"]}';
  return (await parseLines(file, Line, wanted)).map(({ query, relevant }) => {
    const gains = Array.isArray(relevant) ? relevant.map((name) => [name, 1] as const) : Object.entries(relevant);
    return { query, relevant: new Map(gains) };
  });
}

/** Read queries, one `{"query": …}` per line, with or without `relevant`. @throws as `readJudgedQueries` */
export async function readQueries(file: string): Promise<ReadQuery[]> {
  const read = await parseLines(
    file,
    Query,
    '{"query": "…"}, with or without "relevant": ["file name or document id"]',
  );
  return read.map(({ query, relevant }) => (relevant === undefined ? { query } : { query, relevant }));
}

async function parseLines<Schema extends z.ZodType>(
  file: string,
  schema: Schema,
  wanted: string,
): Promise<z.output<Schema>[]> {
  const lines = (await readLines(file)).map((text, index) => ({ text, number: index + 1 }));
  return lines
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, number }) => {
      try {
        return schema.parse(JSON.parse(text));
      } catch {
        throw invalidRequest(`${file}, line ${number}: must be ${wanted}`, 'queries');
      }
    });
}
