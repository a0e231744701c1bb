import { z } from 'zod';
import { invalidRequest } from '../platform/errors.ts';
import type { JudgedQuery } from '../search/tune-weights.ts';
import { readLines } from './read-lines.ts';

const Line = z.looseObject({
  query: z.string().min(1),
  relevant: z.union([z.array(z.string()).min(1), z.record(z.string(), z.number().positive())]),
});

/**
 * Read judged queries, one `{"query": …, "relevant": …}` on each line.
 *
 * @throws AppError `file_not_found` (404), `invalid_request` (400) that names the line
 */
export async function readJudgedQueries(file: string): Promise<JudgedQuery[]> {
  const judged: JudgedQuery[] = [];
  for (const [index, line] of (await readLines(file)).entries()) {
    if (line.trim() === '') continue;
    const { query, relevant } = parseLine(file, index, line);
    const gains = Array.isArray(relevant) ? relevant.map((name) => [name, 1] as const) : Object.entries(relevant);
    judged.push({ query, relevant: new Map(gains) });
  }
  return judged;
}

function parseLine(file: string, index: number, line: string): z.output<typeof Line> {
  try {
    return Line.parse(JSON.parse(line));
  } catch {
    const wanted = '{"query": "…", "relevant": ["file name or document id"]}';
    throw invalidRequest(`${file}, line ${index + 1}: must be ${wanted}`, 'queries');
  }
}
