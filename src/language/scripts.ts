/** Mark of scripts shared by several languages, where only the words reveal the language. */
const SHARED = '';
/** Mark of kana: Japanese mixes it with Han, Chinese doesn't. */
const KANA = 'kana';
const HAN = 'han';

/** Unicode blocks with letters in ascending order, with the language if the script has only one. */
const BLOCKS: readonly (readonly [from: number, to: number, language: string])[] = [
  [0x00c0, 0x024f, SHARED], // Latin
  [0x0370, 0x03ff, 'el'],
  [0x0400, 0x052f, SHARED], // Cyrillic
  [0x0531, 0x058f, 'hy'],
  [0x05d0, 0x05ea, 'he'],
  [0x0620, 0x06ff, SHARED], // Arabic
  [0x0750, 0x077f, SHARED],
  [0x0900, 0x097f, SHARED], // Devanagari
  [0x0980, 0x09ff, 'bn'],
  [0x0a00, 0x0a7f, 'pa'],
  [0x0a80, 0x0aff, 'gu'],
  [0x0b00, 0x0b7f, 'or'],
  [0x0b80, 0x0bff, 'ta'],
  [0x0c00, 0x0c7f, 'te'],
  [0x0c80, 0x0cff, 'kn'],
  [0x0d00, 0x0d7f, 'ml'],
  [0x0d80, 0x0dff, 'si'],
  [0x0e00, 0x0e7f, 'th'],
  [0x0e80, 0x0eff, 'lo'],
  [0x1000, 0x109f, 'my'],
  [0x10a0, 0x10ff, 'ka'],
  [0x1100, 0x11ff, 'ko'], // jamo, as in file names of macOS
  [0x1200, 0x139f, 'am'],
  [0x1780, 0x17ff, 'km'],
  [0x1e00, 0x1eff, SHARED], // Latin, Vietnamese
  [0x1f00, 0x1fff, 'el'],
  [0x3041, 0x30ff, KANA],
  [0x3131, 0x318e, 'ko'],
  [0x31f0, 0x31ff, KANA],
  [0x3400, 0x4dbf, HAN],
  [0x4e00, 0x9fff, HAN],
  [0xa960, 0xa97f, 'ko'],
  [0xac00, 0xd7ff, 'ko'],
  [0xd840, 0xd87f, HAN], // high surrogates of the rarer ones
  [0xf900, 0xfaff, HAN],
  [0xfb50, 0xfdff, SHARED], // Arabic
  [0xfe70, 0xfefc, SHARED],
  [0xff21, 0xff5a, SHARED], // Latin
  [0xff66, 0xff9f, KANA],
  [0xffa0, 0xffdc, 'ko'],
];

/** Languages that can be detected by script alone. */
export const SCRIPT_LANGUAGES: ReadonlySet<string> = new Set([
  ...BLOCKS.map(([, , language]) => language).filter((language) => language.length === 2),
  'ja',
  'zh',
]);

export interface ScriptCount {
  readonly letters: number;
  /** Language of most letters in scripts of a single language, or null without such letters. */
  readonly language: string | null;
  /** Letters of that language's scripts. */
  readonly own: number;
}

/** Minimum share of Hangul for Korean (the rest is hanja) and of kana for Japanese, among Hangul, kana and Han. */
const HANGUL_SHARE_MIN = 0.2;
const KANA_SHARE_MIN = 0.1;

/** Count the letters of a text by script, in linear time. */
export function countScripts(text: string): ScriptCount {
  let letters = 0;
  const counts = new Map<string, number>();
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x80) {
      if ((code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a)) letters++;
      continue;
    }
    const language = languageAt(code);
    if (language === null) continue;
    letters++;
    if (language !== SHARED) counts.set(language, (counts.get(language) ?? 0) + 1);
  }
  const [hangul, kana, han] = [counts.get('ko') ?? 0, counts.get(KANA) ?? 0, counts.get(HAN) ?? 0];
  let own = hangul + kana + han;
  let language = own === 0 ? null : eastAsian(hangul, kana, han);
  for (const [other, count] of counts) {
    if (other.length !== 2 || other === 'ko' || count <= own) continue;
    own = count;
    language = other;
  }
  return { letters, language, own };
}

function eastAsian(hangul: number, kana: number, han: number): string {
  if (hangul >= HANGUL_SHARE_MIN * (hangul + kana + han)) return 'ko';
  return kana >= KANA_SHARE_MIN * (kana + han) && kana > 0 ? 'ja' : 'zh';
}

function languageAt(code: number): string | null {
  let low = 0;
  let high = BLOCKS.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((BLOCKS[middle]?.[0] as number) <= code) low = middle;
    else high = middle - 1;
  }
  const [from, to, language] = BLOCKS[low] as (typeof BLOCKS)[number];
  return code >= from && code <= to ? language : null;
}
