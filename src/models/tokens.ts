/**
 * Function that counts the tokens of one text. The count is exact up to `stopAfter`. Above that, it may be any larger
 * number, so that a text far beyond a limit isn't read to the end.
 */
export type CountText = (text: string, stopAfter: number) => number;

/**
 * Token estimates for models without a known tokenizer, from the word lengths of a text and the scripts of its letters.
 * They approximate common byte-pair encodings (measured against cl100k_base). English and Korean are undercounted by at
 * most 10 %. Measured ratio of estimate to count, for texts of 50 words and more: English abstracts 0.90 to 1.28 (3,903
 * passages of Cranfield), Korean articles 0.92 to 1.32 (896 of KorQuAD), generated paragraphs of twelve registers,
 * including tables, code and lists of names, 0.94 to 1.25. Lists of user names, drugs or foreign places, and other
 * languages in Latin letters, can have a ratio of 0.7.
 */

/** Cost of a token. Costs are in hundredths of a token, so that sums are exact. */
const TOKEN = 100;
const DIGITS_A_TOKEN = 3;
/** Length up to which runs of one space, line break or punctuation character are merged. */
const MERGED_RUN = 32;
/** Additional cost of a word that begins with a capital, since names are rarer than other words. */
const NAME_COST = 40;

/** Cost of one letter outside ASCII by the first code point of its block. A block ends where the next one begins. */
const LETTER_COSTS: readonly (readonly [from: number, cost: number])[] = [
  [0x0080, 75], // accented Latin
  [0x0250, 100],
  [0x0370, 110], // Greek
  [0x0400, 60], // Cyrillic
  [0x0530, 140], // Armenian
  [0x0590, 105], // Hebrew
  [0x0600, 85], // Arabic
  [0x0700, 200],
  [0x0900, 130], // Indic
  [0x0e00, 130], // Thai
  [0x0e80, 250],
  [0x1e00, 110], // accented Latin, Vietnamese
  [0x2000, 130], // punctuation and symbols
  [0x3000, 100], // CJK punctuation
  [0x3040, 105], // kana
  [0x3100, 200],
  [0x3400, 250], // rare Han
  [0x4e00, 140], // Han
  [0xa000, 250],
  [0xac00, 133], // Hangul
  [0xd7b0, 250],
  [0xff00, 150], // full-width forms
  [0x10000, 250], // emoji, historic scripts
];
/** Additional cost of a Hangul word, since its space is seldom merged with its first syllable. */
const HANGUL_WORD_COST = 50;
const HANGUL_FROM = 0xac00;
const HANGUL_TO = 0xd7a3;

const OTHER = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const SPACE = 4;
const NEWLINE = 5;

/**
 * Estimate the number of tokens of a text, in linear time and without allocation.
 *
 * @returns 0 for the empty text, else at least 1
 */
export function countTokens(text: string): number {
  let cost = 0;
  let at = 0;
  let inHangul = false;
  while (at < text.length) {
    const code = text.charCodeAt(at);
    if (code >= 0x80) {
      const hangul = code >= HANGUL_FROM && code <= HANGUL_TO;
      cost += letterCost(text.codePointAt(at) as number) + (hangul && !inHangul ? HANGUL_WORD_COST : 0);
      inHangul = hangul;
      at += code >= 0xd800 && code < 0xdc00 ? 2 : 1;
      continue;
    }
    inHangul = false;
    const kind = kindOf(code);
    const from = at;
    do at++;
    while (at < text.length && kindOf(text.charCodeAt(at)) === kind);
    const length = at - from;
    if (kind === LOWER) cost += lowerCost(length);
    else if (kind === UPPER) {
      // The last capital belongs to the lower-case word that follows it.
      const begins = at < text.length && kindOf(text.charCodeAt(at)) === LOWER;
      cost += begins ? NAME_COST + upperCost(length - 1) : upperCost(length);
    } else if (kind === DIGIT) cost += digitsCost(text, from, length);
    else if (kind === OTHER) cost += punctuationCost(text, from, at);
    // Runs of one character are merged. A single space belongs to the word after it.
    else if (kind === NEWLINE || length > 1) cost += TOKEN + Math.floor(length / MERGED_RUN) * TOKEN;
  }
  return Math.ceil(cost / TOKEN);
}

/**
 * Return a cheap upper bound of the tokens of a text: every token of a byte-level encoding has at least one UTF-8 byte.
 * A text whose bound is within a limit needs no counting.
 */
export function tokenUpperBound(text: string): number {
  return Buffer.byteLength(text);
}

function kindOf(code: number): number {
  if (code >= 0x61 && code <= 0x7a) return LOWER;
  if (code >= 0x41 && code <= 0x5a) return UPPER;
  if (code >= 0x30 && code <= 0x39) return DIGIT;
  if (code === 0x20 || code === 0x09) return SPACE;
  if (code === 0x0a || code === 0x0d) return NEWLINE;
  return code < 0x80 ? OTHER : -1;
}

/**
 * Return the cost of a lower-case word. Short words are nearly always one token. Words of 15 letters and more are rare
 * and are split into tokens of about 3 letters.
 */
function lowerCost(length: number): number {
  if (length <= 4) return TOKEN + 5;
  if (length <= 8) return TOKEN + 6 * (length - 3);
  if (length <= 14) return TOKEN + 30 + 10 * (length - 8);
  return TOKEN + 90 + 35 * (length - 14);
}

/** Return the cost of a run of capitals, which is split into tokens of two or three letters. */
function upperCost(length: number): number {
  if (length <= 0) return 0;
  return length <= 2 ? TOKEN : TOKEN + 40 * (length - 2);
}

/**
 * Return the cost of digits, which are split into groups of three. A single space before digits is a separate token,
 * unlike one before a word.
 */
function digitsCost(text: string, from: number, length: number): number {
  const spaced = text.charCodeAt(from - 1) === 0x20 && text.charCodeAt(from - 2) !== 0x20;
  return Math.ceil(length / DIGITS_A_TOKEN) * TOKEN + (spaced ? TOKEN : 0);
}

/** Return the cost of punctuation. Runs of one character (`-----`) are merged, others split into short tokens. */
function punctuationCost(text: string, from: number, to: number): number {
  const length = to - from;
  if (length <= 2) return TOKEN;
  for (let at = from + 1; at < to; at++) {
    if (text.charCodeAt(at) !== text.charCodeAt(from)) return TOKEN + 25 * (length - 2);
  }
  return TOKEN + Math.floor(length / MERGED_RUN) * TOKEN;
}

function letterCost(codePoint: number): number {
  let low = 0;
  let high = LETTER_COSTS.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((LETTER_COSTS[middle]?.[0] ?? 0) <= codePoint) low = middle;
    else high = middle - 1;
  }
  return LETTER_COSTS[low]?.[1] ?? TOKEN;
}
