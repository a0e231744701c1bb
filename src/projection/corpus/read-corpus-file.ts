import { createReadStream } from 'node:fs';
import { z } from 'zod';
import { type AppError, invalidRequest } from '../../platform/errors.ts';
import { readStart } from '../../platform/read-start.ts';

/** Maximum number of texts in an operator's corpus file. A fit uses a few thousand. */
export const CORPUS_TEXTS_MAX = 100_000;
const FILE_BYTES_MAX = 256 * 1024 * 1024;
/** Maximum length of a text. A longer one is a document, which a model would truncate. */
const TEXT_CHARS_MAX = 32_768;

const CorpusLine = z.object({
  text: z
    .string()
    .max(TEXT_CHARS_MAX)
    .refine((text) => text.trim() !== '', 'is empty'),
  kind: z.enum(['query', 'passage']).optional(),
});

export type CorpusLine = z.infer<typeof CorpusLine>;

/**
 * Read an operator's calibration texts: UTF-8, one JSON object per line, `{"text": …}`, optionally with `"kind":
 * "query"` or `"passage"` for asymmetric models. Skip blank lines, and ignore other fields.
 *
 * @throws AppError `corpus_not_readable`, `corpus_invalid` (names the line) or `corpus_too_long`, all 400
 */
export async function readCorpusFile(path: string): Promise<CorpusLine[]> {
  const texts: CorpusLine[] = [];
  // JSON strings escape line breaks, so every line break ends an object.
  for (const [index, line] of (await readText(path)).split('\n').entries()) {
    if (line.trim() === '') continue;
    if (texts.length === CORPUS_TEXTS_MAX) throw tooLong(path, `${CORPUS_TEXTS_MAX} texts`);
    texts.push(parseLine(line, path, index + 1));
  }
  if (texts.length === 0) throw invalid(path, 1, 'there is no text in the file');
  return texts;
}

async function readText(path: string): Promise<string> {
  const bytes = await readStart(createReadStream(path), FILE_BYTES_MAX + 1).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error);
    throw invalidRequest(
      `the corpus file cannot be read; check its path and its permissions: ${reason}`,
      null,
      'corpus_not_readable',
    );
  });
  if (bytes.length > FILE_BYTES_MAX) throw tooLong(path, `${FILE_BYTES_MAX} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalidRequest(`${path} is not UTF-8; convert it first`, null, 'corpus_not_readable');
  }
}

function parseLine(line: string, path: string, number: number): CorpusLine {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw invalid(path, number, 'it is not JSON');
  }
  const parsed = CorpusLine.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(
    path,
    number,
    parsed.error.issues.map((issue) => `${issue.path.join('.')} ${issue.message}`).join('; '),
  );
}

function invalid(path: string, line: number, fault: string): AppError {
  const message = `${path}, line ${line}: ${fault.trim()}; write one object a line: {"text": "…", "kind": "query"}`;
  return invalidRequest(message, null, 'corpus_invalid');
}

function tooLong(path: string, limit: string): AppError {
  return invalidRequest(
    `${path} has more than ${limit}; a fit needs only a few thousand texts`,
    null,
    'corpus_too_long',
  );
}
