import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { invalidRequest } from '../../platform/errors.ts';
import { type Columns, chooseColumns, describeColumns, rowOf } from './choose-columns.ts';
import type { OldIndex, OldIndexOptions, OldRow } from './old-row.ts';

/** Open a file with one JSON object per line. The first one names the columns. */
export async function openJsonRows(file: string, options: OldIndexOptions): Promise<OldIndex> {
  const [first] = await firstOf(jsonLines(file));
  if (first === undefined) throw invalidRequest(`${file} has no rows`, 'vectors');
  const columns = chooseColumns(Object.keys(first.value), options);
  return {
    found: `JSON lines: ${describeColumns(columns)}`,
    total: null,
    rows: () => readRows(file, columns),
  };
}

async function* readRows(file: string, columns: Columns): AsyncGenerator<OldRow> {
  for await (const { value, line } of jsonLines(file)) {
    yield rowOf(columns, (column) => value[column], { file, place: `line ${line}` });
  }
}

/** Read the objects of a file of JSON lines. Skip empty lines. @throws AppError that names the line */
export async function* jsonLines(
  file: string,
): AsyncGenerator<{ readonly value: Record<string, unknown>; readonly line: number }> {
  let line = 0;
  for await (const text of linesOf(file)) {
    line++;
    if (text.trim() === '') continue;
    yield { value: objectOf(text, file, line), line };
  }
}

function objectOf(text: string, file: string, line: number): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw invalidRequest(`${file}, line ${line}: is not valid JSON: ${(error as Error).message}`, 'vectors');
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw invalidRequest(`${file}, line ${line}: is not a JSON object`, 'vectors');
}

/** Read the lines of a file one by one. */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const stream = createReadStream(file);
  // `readline` doesn't report errors of its input.
  const failed = new Promise<never>((_, reject) => stream.once('error', reject));
  failed.catch(() => {});
  const lines = createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await Promise.race([lines.next(), failed]);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    stream.destroy();
  }
}

/** Return a list with the first item of an iterable; empty if there is none. */
export async function firstOf<T>(items: AsyncIterable<T>): Promise<readonly [T] | readonly []> {
  for await (const item of items) return [item];
  return [];
}
