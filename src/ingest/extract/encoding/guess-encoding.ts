import { FREQUENT_HANZI, FREQUENT_KANJI, FREQUENT_SYLLABLES } from './frequent-characters.ts';
import { isCommonSyllable, looksKorean } from './korean.ts';
import { openDecoder } from './open-decoder.ts';

/** Function that returns how typical a non-ASCII character is of a language, from 0 (foreign to it) to 1. */
type Typical = (character: string) => number;

const korean: Typical = (character) => {
  if (FREQUENT_SYLLABLES.has(character)) return 1;
  if (isCommonSyllable(character)) return 0.5;
  return /[가-힣]/.test(character) ? 0.15 : rare(character);
};

const KANA = /[ぁ-ゖァ-ヺー]/;
const WITHOUT_KANA = 0.7;

const japanese: Typical = (character) => {
  if (KANA.test(character)) return 1;
  return FREQUENT_HANZI.has(character) || FREQUENT_KANJI.has(character) ? 0.8 : rare(character);
};

const chinese: Typical = (character) => (FREQUENT_HANZI.has(character) ? 1 : rare(character));

const cyrillic: Typical = (character) => {
  if (/[оеаинтсрвлкміз]/.test(character)) return 1;
  return /[а-яёєїґ]/.test(character) ? 0.5 : /[А-ЯЁЄІЇҐ«»—№]/.test(character) ? 0.4 : 0;
};

/** Score punctuation, full-width forms and rare characters, which other bytes also decode to by accident. */
function rare(character: string): number {
  if (/[、。「」『』《》！（），：；？]/.test(character)) return 0.5;
  return /\p{Script=Han}/u.test(character) ? 0.25 : 0;
}

/** Candidate encodings. Of equally typical ones, the first wins. */
const CANDIDATES: ReadonlyArray<readonly [label: string, typical: Typical]> = [
  ['euc-kr', korean],
  ['windows-1251', cyrillic],
  ['koi8-r', cyrillic],
  ['ibm866', cyrillic],
  ['iso-8859-5', cyrillic],
  ['x-mac-cyrillic', cyrillic],
  ['shift_jis', japanese],
  ['euc-jp', japanese],
  ['gb18030', chinese],
  ['big5', chinese],
  ['johab', korean],
];
const WESTERN = 'windows-1252';
/** Mean score of a text that is hardly in its encoding's language, and the lead that another one needs. */
const UNTYPICAL_MEAN = 0.4;
const CLEAR_DIFFERENCE = 0.25;
/** Number of non-ASCII bytes from which a declaration can be contradicted. */
const CERTAIN_BYTES = 8;
const INSIDE_WORDS = /(?<=\p{Ll})\p{Lu}|(?<=[a-z])\p{Script=Cyrillic}|\p{Script=Cyrillic}(?=[a-z])/gu;
const GUESS_BYTES = 64 * 1024;

/**
 * Guess the encoding of non-Unicode text: the candidate whose non-ASCII characters are the most typical of its
 * language, else windows-1252. This can't distinguish Western and Central European encodings.
 */
export function guessEncoding(bytes: Uint8Array): string {
  const start = bytes.subarray(0, GUESS_BYTES);
  if (looksKorean(decode(start, 'euc-kr'))) return 'euc-kr';
  return mostTypical(start)?.label ?? WESTERN;
}

/**
 * Return the encoding that the bytes clearly have instead of the declared one; null if the declared one is plausible.
 */
export function contradictedBy(bytes: Uint8Array, declared: string): string | null {
  const start = bytes.subarray(0, GUESS_BYTES);
  const known = declared === 'gbk' ? 'gb18030' : declared;
  const typical = CANDIDATES.find(([label]) => label === known)?.[1];
  if (typical === undefined && declared !== WESTERN) return null;
  const mean = typical === undefined ? UNTYPICAL_MEAN : meanTypical(decode(start, known), typical);
  if (mean > UNTYPICAL_MEAN || start.filter((byte) => byte >= 0x80).length < CERTAIN_BYTES) return null;
  const best = mostTypical(start);
  return best !== null && best.mean >= mean + CLEAR_DIFFERENCE ? best.label : null;
}

/** Return the most typical candidate, or null for text that looks Western. */
function mostTypical(start: Uint8Array): { label: string; mean: number } | null {
  if (looksWestern(start)) return null;
  let best: { label: string; mean: number } | null = null;
  for (const [label, typical] of CANDIDATES) {
    const mean = meanTypical(decode(start, label), typical);
    if (mean > (best?.mean ?? 0)) best = { label, mean };
  }
  return best;
}

function decode(bytes: Uint8Array, label: string): string {
  return openDecoder(label)?.decode(bytes) ?? '';
}

/** Return true if most letters are ASCII, and most others stand alone or in pairs beside an ASCII letter. */
function looksWestern(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  const letters = text.match(/[a-z]/gi)?.length ?? 0;
  let foreign = 0;
  let runs = 0;
  let western = 0;
  for (const [all, run = ''] of text.matchAll(/[a-z]?([\x80-\xff]+)[a-z]?/gi)) {
    foreign += run.length;
    runs++;
    if (run.length === 1 || (run.length === 2 && all.length > 2)) western++;
  }
  return foreign < letters && western * 2 > runs;
}

/** Return the mean score of the non-ASCII characters; 0 for text that the encoding can't have. */
function meanTypical(text: string, typical: Typical): number {
  const foreign = text.match(/[^\0-\x7f]/gu) ?? [];
  const broken = text.match(/[\ufffd\x80-\x9f\p{Co}]/gu)?.length ?? 0;
  // Capitals within words are lower case of another encoding, and Cyrillic next to Latin letters is accents.
  const inside = text.match(INSIDE_WORDS)?.length ?? 0;
  if (foreign.length === 0 || broken * 50 > foreign.length) return 0;
  const sum = foreign.reduce((total, character) => total + typical(character), 0);
  // Japanese without kana is rare, and other bytes decode to its characters by accident.
  if (typical === japanese && !KANA.test(text)) return (sum / foreign.length) * WITHOUT_KANA;
  return (sum - inside) / foreign.length;
}
