import { analyse } from 'chardet';
import { looksKorean } from './korean.ts';
import { openDecoder } from './open-decoder.ts';

/** Encodings that statistics recognise reliably, with the minimum confidence (of 100). */
const GUESSES: ReadonlyMap<string, number> = new Map([
  ['Shift_JIS', 60],
  ['EUC-JP', 60],
  ['GB18030', 60],
  ['Big5', 60],
]);
const CHINESE: ReadonlySet<string> = new Set(['gb18030', 'big5']);
const CYRILLIC = ['windows-1251', 'koi8-r', 'ibm866', 'iso-8859-5', 'x-mac-cyrillic'];
/** Letters that make up two thirds of Russian, Ukrainian and Bulgarian text. */
const FREQUENT_CYRILLIC = /[оеаинтсрвлкміз]/g;
const FREQUENT_SHARE_MIN = 0.6;
const GUESS_BYTES = 64 * 1024;

/**
 * Guess the encoding of text that is not Unicode: Korean by its frequent syllables, Cyrillic by its frequent letters,
 * other encodings of East Asia by statistics, else windows-1252. Statistics cannot distinguish the encodings of
 * Western and Central Europe.
 */
export function guessEncoding(bytes: Uint8Array): string {
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, GUESS_BYTES));
  const korean = decode(start, 'euc-kr');
  if (looksKorean(korean)) return 'euc-kr';
  const { letters, foreign } = countLetters(start);
  if (foreign > letters) {
    const cyrillic = CYRILLIC.find((label) => looksCyrillic(decode(start, label)));
    if (cyrillic !== undefined) return cyrillic;
  }
  const guesses = analyse(start).filter(({ name }) => GUESSES.has(name) || name === 'EUC-KR');
  const sure = guesses.find(({ name, confidence }) => confidence >= (GUESSES.get(name) ?? 101));
  const koreanConfidence = guesses.find(({ name }) => name === 'EUC-KR')?.confidence ?? 0;
  const isChinese = sure !== undefined && CHINESE.has(sure.name.toLowerCase()) && sure.confidence > koreanConfidence;
  // Simplified Chinese decodes as Korean too, with syllables that do not occur in Korean.
  if (!isChinese && isMostlyCommonHangul(start, korean)) return 'euc-kr';
  if (sure !== undefined) return sure.name.toLowerCase();
  if (looksKorean(decode(start, 'johab'))) return 'johab';
  // Accented letters are rare. If most letters are beyond ASCII, a short text of East Asia is more likely.
  const likely = foreign >= letters ? guesses.find(({ name }) => GUESSES.has(name)) : undefined;
  return likely?.name.toLowerCase() ?? 'windows-1252';
}

function decode(bytes: Uint8Array, label: string): string {
  return openDecoder(label)?.decode(bytes) ?? '';
}

function countLetters(bytes: Uint8Array): { letters: number; foreign: number } {
  let letters = 0;
  let foreign = 0;
  for (const byte of bytes) {
    if (byte >= 0x80) foreign++;
    else if ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) letters++;
  }
  return { letters, foreign };
}

/** Return true if most of the characters beyond ASCII are frequent Cyrillic letters, and capitals begin words. */
function looksCyrillic(text: string): boolean {
  const foreign = text.match(/[^\0-\x7f]/g)?.length ?? 0;
  const frequent = text.match(FREQUENT_CYRILLIC)?.length ?? 0;
  const inside = text.match(/(?<=\p{Ll})\p{Lu}/gu)?.length ?? 0;
  return frequent >= foreign * FREQUENT_SHARE_MIN && inside * 20 <= foreign;
}

/** Return true for Hangul of which most syllables are common, that is in KS X 1001: both bytes are above 0xA0. */
function isMostlyCommonHangul(bytes: Uint8Array, text: string): boolean {
  let pairs = 0;
  for (let at = 0; at < bytes.length; at++) {
    if ((bytes[at] as number) < 0x80) continue;
    if ((bytes[at] as number) > 0xa0 && (bytes[at + 1] ?? 0) > 0xa0) pairs++;
    at++;
  }
  const foreign = text.match(/[^\0-\x7f]/g)?.length ?? 0;
  const hangul = text.match(/[가-힣]/g)?.length ?? 0;
  const broken = text.match(/\ufffd/g)?.length ?? 0;
  return broken * 50 <= foreign && hangul * 2 >= foreign && pairs * 2 >= foreign;
}
