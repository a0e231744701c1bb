import { createWriteStream } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { text as readText } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { AppError, conflict } from '../platform/errors.ts';
import { openProgress } from './progress.ts';
import type { Session } from './session.ts';

const PAGE = 200;

export interface JudgedSet {
  readonly folder: string;
  readonly documents: number;
  readonly queries: number;
}

interface Judged {
  readonly query: string;
  readonly relevant: Readonly<Record<string, number>>;
}

/**
 * Write a bucket's judged queries and all its texts as a judged collection: `docs.jsonl`, `queries.jsonl` and
 * `qrels.tsv`. Skip documents without text.
 *
 * @param folder a new folder, or an empty one
 * @throws AppError `folder_not_empty`, `no_judged_queries` (409)
 */
export async function saveJudgedSet(
  session: Session,
  bucket: string,
  folder: string,
  signal: AbortSignal,
): Promise<JudgedSet> {
  const { output, body } = await session.receive('search.judged', { bucket });
  const judged = (await readText(body))
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Judged);
  if (judged.length === 0) throw conflict(`bucket ${bucket} has no judged queries`, 'no_judged_queries');
  await mkdir(folder, { recursive: true });
  if ((await readdir(folder)).length > 0) {
    throw conflict(`${folder} is not empty; name a new folder`, 'folder_not_empty');
  }
  const documents = await saveTexts(session, bucket, path.join(folder, 'docs.jsonl'), signal);
  const ids = judged.map((each, nth) => ({ ...each, id: `q${nth + 1}` }));
  const queries = ids.map(({ id, query: text }) => `${JSON.stringify({ id, text })}\n`);
  const grades = ids.flatMap(({ id, relevant }) =>
    Object.entries(relevant).map(([document, grade]) => `${id}\t${document}\t${grade}\n`),
  );
  await writeFile(path.join(folder, 'queries.jsonl'), queries.join(''));
  await writeFile(path.join(folder, 'qrels.tsv'), grades.join(''));
  return { folder, documents, queries: output.queries };
}

async function saveTexts(session: Session, bucket: string, file: string, signal: AbortSignal): Promise<number> {
  const { document_count: total = 0 } = await session.call('buckets.show', { bucket });
  const progress = await openProgress();
  progress.begin('writing documents', total);
  let written = 0;
  async function* lines() {
    for await (const { id, title } of listReady(session, bucket)) {
      signal.throwIfAborted();
      const text = await readWhole(session, bucket, id);
      if (text === '') continue;
      written++;
      progress.update(written);
      yield `${JSON.stringify({ id, title, text })}\n`;
    }
  }
  try {
    await pipeline(Readable.from(lines()), createWriteStream(file), { signal });
  } finally {
    progress.close();
  }
  return written;
}

async function* listReady(session: Session, bucket: string): AsyncGenerator<{ id: string; title: string }> {
  for (let cursor: string | undefined; ; ) {
    const page = await session.call('documents.list', { bucket, limit: PAGE, status: 'ready', cursor });
    for (const { id, file_name: title } of page.data) yield { id, title };
    if (page.next_cursor === null) return;
    cursor = page.next_cursor;
  }
}

/** Read the whole text of a document. Return nothing if it was deleted meanwhile. */
async function readWhole(session: Session, bucket: string, document: string): Promise<string> {
  let whole = '';
  try {
    for (let offset: number | null = 0; offset !== null; ) {
      const part: { text: string; next_offset: number | null } = await session.call('documents.text', {
        bucket,
        document,
        offset,
      });
      whole += part.text;
      offset = part.next_offset;
    }
  } catch (error) {
    if (error instanceof AppError && error.status === 404) return '';
    throw error;
  }
  return whole;
}
