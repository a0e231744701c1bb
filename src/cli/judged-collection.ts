import { invalidRequest } from '../platform/errors.ts';
import type { JudgedCollection, JudgedText } from '../projection/evaluate-retrieval.ts';
import { readLines } from './read-lines.ts';

/**
 * Read a judged collection. Documents and queries are one `{"id": …, "text": …}` per line (`title` is prepended).
 * Judgements are in TREC form, `query 0 document gain` or `query document gain` per line, separated by tabs or spaces.
 *
 * @throws AppError `file_not_found` (404), `invalid_request` (400) that names the line
 */
export async function readJudgedCollection(files: {
  docs: string;
  queries: string;
  qrels: string;
}): Promise<JudgedCollection> {
  const relevant = new Map<string, Set<string>>();
  for (const [index, line] of (await readLines(files.qrels)).entries()) {
    const fields = line.trim().split(/\s+/);
    if (line.trim() === '') continue;
    const [query, document, gain] = fields.length >= 4 ? [fields[0], fields[2], fields[3]] : fields;
    // Skip a header line.
    if (index === 0 && Number.isNaN(Number(gain ?? 1))) continue;
    if (!query || !document)
      throw invalidRequest(`${files.qrels}, line ${index + 1}: must be "query document gain"`, 'qrels');
    if (Number(gain ?? 1) <= 0) continue;
    const ids = relevant.get(query) ?? new Set();
    relevant.set(query, ids.add(document));
  }
  return { documents: await readTexts(files.docs), queries: await readTexts(files.queries), relevant };
}

async function readTexts(file: string): Promise<JudgedText[]> {
  const texts: JudgedText[] = [];
  for (const [index, line] of (await readLines(file)).entries()) {
    if (line.trim() === '') continue;
    const { id, _id, title, text } = parseLine(file, index, line);
    const key = id ?? _id;
    if ((typeof key !== 'string' && typeof key !== 'number') || typeof text !== 'string') {
      throw invalidRequest(`${file}, line ${index + 1}: needs "id" and "text"`, 'file');
    }
    texts.push({ id: String(key), text: typeof title === 'string' && title !== '' ? `${title}\n${text}` : text });
  }
  return texts;
}

function parseLine(file: string, index: number, line: string): Record<string, unknown> {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    throw invalidRequest(`${file}, line ${index + 1}: is not JSON`, 'file');
  }
}
