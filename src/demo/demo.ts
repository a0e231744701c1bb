import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Bucket of the sample documents. */
export const DEMO_BUCKET = 'demo';

/** Folder with the sample documents: the handbook of a bicycle shop, in English and Korean. */
export const DEMO_FOLDER = fileURLToPath(new URL('corpus/', import.meta.url));

/** Question about the sample documents, and the path of the document that answers it. */
export interface DemoQuestion {
  readonly question: string;
  readonly answeredBy: string;
}

export const DEMO_QUESTIONS: readonly DemoQuestion[] = [
  { question: 'how many days of annual leave do I get', answeredBy: 'english/annual-leave.md' },
  { question: 'can a helmet be returned', answeredBy: 'english/returns.md' },
  { question: 'who may open the workshop at weekends', answeredBy: 'english/workshop-safety.md' },
  { question: '출장비는 언제까지 청구하나요', answeredBy: 'korean/expenses.md' },
  { question: '보증 기간은 얼마인가요', answeredBy: 'korean/warranty.md' },
];

/** List the paths of the sample documents, relative to `DEMO_FOLDER` and separated by `/`. */
export async function listDemoPaths(): Promise<string[]> {
  const entries = await readdir(DEMO_FOLDER, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return files.map((file) => path.relative(DEMO_FOLDER, file).split(path.sep).join('/')).sort();
}
