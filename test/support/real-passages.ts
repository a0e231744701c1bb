import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const PACKAGES = fileURLToPath(new URL('../../node_modules', import.meta.url));
const FILE_BYTES_MAX = 400_000;
const PASSAGE_CHARS = 480;
const PASSAGE_CHARS_MIN = 80;
/** Maximum passages to read from files; further ones are assembled from them. */
const REAL_PASSAGES_MAX = 50_000;
/** Prime distance between the passages that one is assembled from. */
const PASSAGE_STRIDE = 7_919;

/** Read distinct passages of real text that is always available: documentation and code of the installed packages. */
export function readPassages(count: number): string[] {
  const passages = new Set<string>();
  for (const file of filesIn(PACKAGES)) {
    if (statSync(file).size > FILE_BYTES_MAX) continue;
    const text = readFileSync(file, 'utf8');
    for (let at = 0; at < text.length; at += PASSAGE_CHARS) {
      const passage = text
        .slice(at, at + PASSAGE_CHARS)
        .replace(/\s+/g, ' ')
        .trim()
        .toWellFormed();
      if (passage.length >= PASSAGE_CHARS_MIN) passages.add(passage);
      if (passages.size === count) return [...passages];
    }
  }
  throw new Error(`the installed packages have only ${passages.size} passages`);
}

/**
 * Create a source of any number of passages. Beyond those in the installed packages, each is assembled from parts of
 * three of them, so that word frequencies and combinations are as in real text.
 */
export function openPassages(count: number): { readonly count: number; at(nth: number): string } {
  const real = readPassages(Math.min(count, REAL_PASSAGES_MAX));
  const part = (nth: number, third: number) => {
    const words = (real[nth % real.length] as string).split(' ');
    return words.slice(Math.floor((words.length * third) / 3), Math.floor((words.length * (third + 1)) / 3));
  };
  return {
    count,
    at(nth) {
      if (nth < real.length) return real[nth] as string;
      const round = Math.floor(nth / real.length);
      return [0, 1, 2].flatMap((third) => part(nth + third * round * PASSAGE_STRIDE, third)).join(' ');
    },
  };
}

function* filesIn(folder: string): Generator<string> {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  for (const entry of entries) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) yield* filesIn(file);
    else if (entry.isFile() && /\.(md|d\.ts|js)$/.test(entry.name)) yield file;
  }
}

/** Make queries of consecutive words of passages from the whole list. */
export function drawQueries(passages: readonly string[], count: number): string[] {
  const wordsPerQuery = 8;
  return Array.from({ length: count }, (_, nth) => {
    const words = (passages[Math.floor(((nth + 0.5) * passages.length) / count)] as string).split(' ');
    const start = Math.min(4, words.length - 1);
    return words.slice(start, start + wordsPerQuery).join(' ');
  });
}
