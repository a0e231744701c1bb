import path from 'node:path';
import { invalidRequest } from '../platform/errors.ts';
import { readLines } from './read-lines.ts';

/**
 * Read the texts of a file, one per line. In a `.jsonl` file, each line is a JSON string or an object with the string
 * `text`. `-` reads lines of text from stdin.
 *
 * @throws AppError `file_not_found` (404), `file_unreadable` (403), `invalid_request` (400) that names the line
 */
export async function readTexts(file: string): Promise<string[]> {
  const extension = path.extname(file).toLowerCase();
  if (file !== '-' && extension !== '.jsonl' && extension !== '.txt') {
    throw invalidRequest(`FILE: must end in .jsonl or .txt, or be - for stdin: ${file}`, 'file');
  }
  const lines = await readLines(file);
  return lines.map((line, index) => {
    const text = extension === '.jsonl' ? textOf(line, index + 1) : line;
    if (text === '') throw invalidRequest(`FILE line ${index + 1}: is empty`, 'file');
    return text;
  });
}

function textOf(line: string, number: number): string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw invalidRequest(`FILE line ${number}: is not JSON`, 'file');
  }
  const text = typeof value === 'object' && value !== null ? (value as { text?: unknown }).text : value;
  if (typeof text === 'string') return text;
  throw invalidRequest(`FILE line ${number}: must be a string, or an object with the string "text"`, 'file');
}
