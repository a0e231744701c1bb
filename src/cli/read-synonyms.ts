import { readLines } from './read-lines.ts';

/**
 * Read groups of synonyms: one per line, separated by commas. Skip empty lines and lines that begin with `#`.
 *
 * @param file `-` for stdin
 * @throws AppError `file_not_found` (404), `file_unreadable` (403)
 */
export async function readSynonyms(file: string): Promise<string[][]> {
  const lines = (await readLines(file)).map((line) => line.trim());
  const groups = lines.filter((line) => line !== '' && !line.startsWith('#'));
  return groups.map((line) =>
    line
      .split(',')
      .map((phrase) => phrase.trim())
      .filter((phrase) => phrase !== ''),
  );
}
