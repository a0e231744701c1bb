import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { setImmediate } from 'node:timers/promises';
import { type BytePairVocabulary, countMerged } from './byte-pairs.ts';
import { RecentCounts } from './recent-counts.ts';
import type { CountText } from './tokens.ts';

/** Length of the longest token in bytes. A text has at least its UTF-8 length divided by this number of tokens. */
export const CL100K_TOKEN_BYTES_MAX = 128;
/**
 * Length above which a pre-token is cut. A text with such a pre-token exceeds the limit of every model with this
 * vocabulary (8,191).
 */
const PRETOKEN_BYTES_MAX = CL100K_TOKEN_BYTES_MAX * 8192;
/** Lines to read between event-loop yields: under 1 ms, or 5 ms while the code is cold. */
const LINES_PER_SLICE = 1024;
const CACHED_PRETOKENS_MAX = 16_384;
const CACHED_PRETOKEN_CHARS_MAX = 24;

/**
 * Read the vocabulary of cl100k_base (one token per line: base64, space, rank), with event-loop yields between slices
 * of lines.
 *
 * @returns a function that counts the tokens of a text. Names of control tokens such as `<|endoftext|>` count as plain
 *   text. It accepts every string, in linear time; a lone surrogate counts as U+FFFD.
 */
export async function loadCl100k(): Promise<CountText> {
  const file = createRequire(import.meta.url).resolve('gpt-tokenizer/data/cl100k_base.tiktoken');
  const vocabulary = await readVocabulary(await readFile(file));
  // Cache of words, which in non-Latin scripts have many tokens and recur within a text. Emptied when full.
  const cached = new Map<string, number>();
  const countWide = (pretoken: string): number => {
    const known = cached.get(pretoken);
    if (known !== undefined) return known;
    const count = countBytes(Buffer.from(pretoken).toString('latin1'), vocabulary);
    if (pretoken.length <= CACHED_PRETOKEN_CHARS_MAX) {
      if (cached.size >= CACHED_PRETOKENS_MAX) cached.clear();
      cached.set(pretoken, count);
    }
    return count;
  };
  const countPretoken = (pretoken: string): number =>
    isAscii(pretoken) ? countBytes(pretoken, vocabulary) : countWide(pretoken);
  const recent = new RecentCounts();
  return (text, stopAfter) => {
    let tokens = 0;
    for (let at = 0; at < text.length && tokens <= stopAfter; ) {
      const end = pretokenEnd(text, at);
      tokens += recent.countOf(text, at, end, countPretoken);
      at = end;
    }
    return tokens;
  };
}

function countBytes(bytes: string, vocabulary: BytePairVocabulary): number {
  if (bytes.length <= PRETOKEN_BYTES_MAX) return countMerged(bytes, vocabulary);
  let tokens = 0;
  for (let at = 0; at < bytes.length; at += PRETOKEN_BYTES_MAX) {
    tokens += countMerged(bytes.slice(at, at + PRETOKEN_BYTES_MAX), vocabulary);
  }
  return tokens;
}

async function readVocabulary(file: Buffer): Promise<BytePairVocabulary> {
  const ranks = new Map<string, number>();
  const pairRanks = new Int32Array(256 * 256).fill(-1);
  let tokenBytesMax = 0;
  for (let at = 0; at < file.length; ) {
    const space = file.indexOf(0x20, at);
    const end = file.indexOf(0x0a, space);
    if (space < 0 || end < 0) throw new Error(`the vocabulary of cl100k_base is broken at byte ${at}`);
    const token = atob(file.toString('latin1', at, space));
    const rank = Number(file.toString('latin1', space + 1, end));
    ranks.set(token, rank);
    if (token.length === 2) pairRanks[token.charCodeAt(0) * 256 + token.charCodeAt(1)] = rank;
    tokenBytesMax = Math.max(tokenBytesMax, token.length);
    at = end + 1;
    if (ranks.size % LINES_PER_SLICE === 0) await setImmediate();
  }
  return { ranks, pairRanks, tokenBytesMax };
}

const OTHER = 1;
const LETTER = 2;
const NUMBER = 3;
const SPACE = 4;
const NEWLINE = 5;

/** Cached kind of each code unit; 0 if unknown. */
const kinds = new Uint8Array(0x10000);

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  const known = kinds[code] as number;
  if (known !== 0) return known;
  const wide = code >= 0xd800 && code < 0xdc00;
  const kind = kindOf(wide ? String.fromCodePoint(text.codePointAt(at) as number) : text.charAt(at));
  // The kind of a high surrogate depends on the low one, so don't cache it.
  if (!wide) kinds[code] = kind;
  return kind;
}

function kindOf(character: string): number {
  if (character === '\r' || character === '\n') return NEWLINE;
  if (/^\p{L}$/u.test(character)) return LETTER;
  if (/^\p{N}$/u.test(character)) return NUMBER;
  return /^\p{White_Space}$/u.test(character) ? SPACE : OTHER;
}

function widthAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  if (code < 0xd800 || code >= 0xdc00) return 1;
  const low = text.charCodeAt(at + 1);
  return low >= 0xdc00 && low < 0xe000 ? 2 : 1;
}

/**
 * Return the end of the pre-token that begins at `at`, by the pattern of cl100k_base
 * (https://github.com/openai/tiktoken/blob/main/tiktoken_ext/openai_public.py):
 * `'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|
 * ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s`. It is implemented in code, since a run of a million letters
 * overflows the stack of a regular expression.
 */
function pretokenEnd(text: string, at: number): number {
  const contraction = text.charCodeAt(at) === 0x27 ? contractionEnd(text, at) : -1;
  if (contraction > 0) return contraction;
  const kind = kindAt(text, at);
  const second = at + widthAt(text, at);
  if (kind === LETTER) return runEnd(text, second, LETTER);
  if (kind === NUMBER) return runEnd(text, second, NUMBER, 2);
  const follows = second < text.length ? kindAt(text, second) : 0;
  if (kind !== NEWLINE && follows === LETTER) return runEnd(text, second, LETTER);
  if (kind === OTHER) return runEnd(text, runEnd(text, second, OTHER), NEWLINE);
  if (text.charCodeAt(at) === 0x20 && follows === OTHER) {
    return runEnd(text, runEnd(text, second, OTHER), NEWLINE);
  }
  return whiteSpaceEnd(text, at);
}

function runEnd(text: string, from: number, kind: number, countMax = Number.POSITIVE_INFINITY): number {
  let at = from;
  for (let count = 0; count < countMax && at < text.length && kindAt(text, at) === kind; count++) {
    at += widthAt(text, at);
  }
  return at;
}

/**
 * Return the end of white space: after the last line break of the run; without one, before its last space, which
 * belongs to the following pre-token.
 */
function whiteSpaceEnd(text: string, from: number): number {
  let at = from;
  let newlineEnd = -1;
  for (; at < text.length; at++) {
    const kind = kindAt(text, at);
    if (kind !== SPACE && kind !== NEWLINE) break;
    if (kind === NEWLINE) newlineEnd = at + 1;
  }
  if (at === text.length) return at;
  if (newlineEnd > 0) return newlineEnd;
  return at - from > 1 ? at - 1 : at;
}

const CONTRACTION = /'(?:[sdmt\u017f]|ll|ve|re)/iy;

function contractionEnd(text: string, at: number): number {
  CONTRACTION.lastIndex = at;
  return CONTRACTION.test(text) ? CONTRACTION.lastIndex : -1;
}

function isAscii(pretoken: string): boolean {
  for (let at = 0; at < pretoken.length; at++) if (pretoken.charCodeAt(at) >= 0x80) return false;
  return true;
}
