/** Composition of Hangul syllables (The Unicode Standard, section 3.12). */

const FIRST_SYLLABLE = 0xac00;
const LAST_SYLLABLE = 0xd7a3;
export const INITIAL_COUNT = 19;
/** Vowels and final consonants in the order of their numbers. A syllable without a final consonant has the first. */
const VOWELS = [...'ㅏㅐㅑㅒㅓㅔㅕㅖㅗㅘㅙㅚㅛㅜㅝㅞㅟㅠㅡㅢㅣ'];
const FINALS = ['', ...'ㄱㄲㄳㄴㄵㄶㄷㄹㄺㄻㄼㄽㄾㄿㅀㅁㅂㅄㅅㅆㅇㅈㅊㅋㅌㅍㅎ'];
export const VOWEL_COUNT = VOWELS.length;
export const FINAL_COUNT = FINALS.length;

/** Numbers of the jamo of a syllable. */
export interface Jamo {
  readonly initial: number;
  readonly vowel: number;
  /** 0: no final consonant. */
  readonly final: number;
}

/** Return true for the code of a composed syllable, 가 to 힣. */
export function isSyllable(code: number): boolean {
  return code >= FIRST_SYLLABLE && code <= LAST_SYLLABLE;
}

export function jamoOf(code: number): Jamo {
  const index = code - FIRST_SYLLABLE;
  return {
    initial: Math.floor(index / (VOWEL_COUNT * FINAL_COUNT)),
    vowel: Math.floor(index / FINAL_COUNT) % VOWEL_COUNT,
    final: index % FINAL_COUNT,
  };
}

export function codeOf({ initial, vowel, final }: Jamo): number {
  return FIRST_SYLLABLE + (initial * VOWEL_COUNT + vowel) * FINAL_COUNT + final;
}

/** Return the vowel of the last syllable of a Hangul word, such as `ㅏ`. */
export function vowelOf(word: string): string {
  return VOWELS[jamoOf(word.charCodeAt(word.length - 1)).vowel] as string;
}

/** Return the final consonant of the last syllable of a Hangul word, such as `ㄴ`; the empty string for none. */
export function finalOf(word: string): string {
  return FINALS[jamoOf(word.charCodeAt(word.length - 1)).final] as string;
}

/** Replace the final consonant of the last syllable of a Hangul word. @param final empty to remove it */
export function withFinal(word: string, final: string): string {
  const jamo = jamoOf(word.charCodeAt(word.length - 1));
  return word.slice(0, -1) + String.fromCharCode(codeOf({ ...jamo, final: FINALS.indexOf(final) }));
}

/** Replace the vowel of the last syllable of a Hangul word. */
export function withVowel(word: string, vowel: string): string {
  const jamo = jamoOf(word.charCodeAt(word.length - 1));
  return word.slice(0, -1) + String.fromCharCode(codeOf({ ...jamo, vowel: VOWELS.indexOf(vowel) }));
}
