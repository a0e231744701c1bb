import { type PairTable, tableOf } from './double-byte.ts';
import { FREQUENT_SYLLABLES } from './frequent-characters.ts';

const SYLLABLE_FIRST = 0xac00;
const SYLLABLE_LAST = 0xd7a3;
const KS_X_1001 = 'euc-kr';

/**
 * Tabulate Windows-949, of which the runtime only decodes KS X 1001. The other 8,822 syllables follow in Unicode order:
 * 178 for each first byte up to 0xA0, then 84.
 */
function windows949(): PairTable {
  const more = new Map([
    [0xa2e6, '€'],
    [0xa2e7, '®'],
  ]);
  const known = new Set(knownSyllables());
  let lead = 0x81;
  let trail = 0x41;
  for (let code = SYLLABLE_FIRST; code <= SYLLABLE_LAST; code++) {
    const syllable = String.fromCharCode(code);
    if (known.has(syllable)) continue;
    more.set((lead << 8) | trail, syllable);
    trail++;
    if (trail === 0x5b) trail = 0x61;
    else if (trail === 0x7b) trail = 0x81;
    else if (trail === (lead <= 0xa0 ? 0xff : 0xa1)) {
      lead++;
      trail = 0x41;
    }
  }
  return tableOf(KS_X_1001, more);
}

/** Return the 2,350 syllables of KS X 1001. */
function knownSyllables(): string {
  const bytes: number[] = [];
  for (let lead = 0xb0; lead <= 0xc8; lead++) for (let trail = 0xa1; trail <= 0xfe; trail++) bytes.push(lead, trail);
  return new TextDecoder(KS_X_1001).decode(Uint8Array.from(bytes));
}

let windows949Table: PairTable | null = null;

export const windows949Pair: PairTable = (lead, trail) => {
  windows949Table ??= windows949();
  return windows949Table(lead, trail);
};

/** First codes of the four vowel groups of Johab. */
const VOWEL_GROUPS = [3, 10, 18, 26];
const VOWEL_FILLER = 2;
const VOWEL_FIRST = 0x314f;
const INITIALS = 'ㄱㄲㄴㄷㄸㄹㅁㅂㅃㅅㅆㅇㅈㅉㅊㅋㅌㅍㅎ';

/** Return the index of a Johab vowel, 0..20, or null for any other code. Its codes are in groups of six. */
function johabVowel(code: number): number | null {
  const group = VOWEL_GROUPS.findLastIndex((first) => first <= code);
  const index = code - (VOWEL_GROUPS[group] as number);
  if (group < 0 || index >= (group === 0 ? 5 : 6)) return null;
  const vowel = group === 0 ? index : 5 + (group - 1) * 6 + index;
  return vowel <= 20 ? vowel : null;
}

/** Return the index of a Johab final consonant, 0..27, where 0 is none, or null for any other code. */
function johabFinal(code: number): number | null {
  if (code >= 1 && code <= 17) return code - 1;
  return code >= 19 && code <= 29 ? code - 2 : null;
}

/**
 * Return the text of a Johab byte pair (KS C 5601-1992, annex 3; code page 1361). Syllables consist of three 5-bit
 * codes. Other characters are those of KS X 1001, two rows per first byte.
 */
export const johabPair: PairTable = (lead, trail) => {
  if (trail < 0x31 || trail === 0x7f || trail === 0xff) return undefined;
  if (lead >= 0x84 && lead <= 0xd3) {
    const initial = ((lead >> 2) & 31) - 2;
    const vowelCode = ((lead & 3) << 3) | (trail >> 5);
    const vowel = johabVowel(vowelCode);
    const final = johabFinal(trail & 31);
    if (final === 0 && initial === -1 && vowel !== null) return String.fromCharCode(VOWEL_FIRST + vowel);
    if (final === 0 && vowelCode === VOWEL_FILLER) return INITIALS[initial];
    if (initial < 0 || initial > 18 || vowel === null || final === null) return undefined;
    return String.fromCharCode(SYLLABLE_FIRST + (initial * 21 + vowel) * 28 + final);
  }
  const isSymbol = lead >= 0xd9 && lead <= 0xde;
  if ((!isSymbol && !(lead >= 0xe0 && lead <= 0xf9)) || (trail > 0x7e && trail < 0x91)) return undefined;
  // Rows 1 to 12 contain symbols, rows 42 to 93 Hanja.
  const row = isSymbol ? (lead - 0xd9) * 2 : (lead - 0xe0) * 2 + 41;
  const cell = trail - (trail < 0x91 ? 0x31 : 0x43);
  return windows949Pair(row + Math.floor(cell / 94) + 0xa1, (cell % 94) + 0xa1);
};

let common: ReadonlySet<string> | null = null;

/** Return true for the 2,350 syllables of KS X 1001. Text of other encodings often decodes to the others. */
export function isCommonSyllable(syllable: string): boolean {
  common ??= new Set(knownSyllables());
  return common.has(syllable);
}

/** Return true if the text can be Korean, rather than bytes of another encoding that happen to be Hangul. */
export function looksKorean(text: string): boolean {
  let foreign = 0;
  let broken = 0;
  let syllables = 0;
  let frequent = 0;
  for (const character of text) {
    const code = character.codePointAt(0) as number;
    if (code < 0x80) continue;
    foreign++;
    if (code === 0xfffd) broken++;
    if (code < SYLLABLE_FIRST || code > SYLLABLE_LAST) continue;
    syllables++;
    if (FREQUENT_SYLLABLES.has(character)) frequent++;
  }
  return broken * 50 <= foreign && syllables * 2 >= foreign && frequent * 4 >= syllables && syllables > 0;
}
