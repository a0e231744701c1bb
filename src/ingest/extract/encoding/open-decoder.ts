import { big5Pair } from './big5.ts';
import { CodePageDecoder, labelOfCodePage } from './code-pages.ts';
import type { Decoder } from './decoder.ts';
import { DoubleByteDecoder } from './double-byte.ts';
import { johabPair, windows949Pair } from './korean.ts';
import { SevenBitDecoder } from './seven-bit.ts';
import { codePageCharacters } from './table-files.ts';
import { Utf7Decoder, Utf32Decoder } from './wide.ts';

/** Aliases unknown to the runtime and without a code page number, without separators and the prefix `x-`. */
const ALIASES: Readonly<Record<string, string>> = {
  uhc: 'euc-kr',
  euckr: 'euc-kr',
  ksx1001: 'euc-kr',
  ksc56011987: 'euc-kr',
  ksc5601: 'euc-kr',
  ksc56011992: 'johab',
  johab: 'johab',
  big5hkscs: 'big5',
  hkscs: 'big5',
  iso2022kr: 'iso-2022-kr',
  iso2022cn: 'iso-2022-cn',
  iso2022jp1: 'iso-2022-jp',
  iso2022jp2: 'iso-2022-jp',
  iso2022jpms: 'iso-2022-jp',
  hz: 'hz-gb-2312',
  hzgb2312: 'hz-gb-2312',
  eucjp: 'euc-jp',
  eucjpms: 'euc-jp',
  euccn: 'gbk',
  mskanji: 'shift_jis',
  shiftjisx0213: 'shift_jis',
  utf32: 'utf-32le',
  utf32le: 'utf-32le',
  utf32be: 'utf-32be',
  ucs4: 'utf-32be',
  maccyrillic: 'x-mac-cyrillic',
  mackorean: 'euc-kr',
  tis620: 'windows-874',
  utf7: 'utf-7',
  unicode11utf7: 'utf-7',
};

/** Labels that say nothing about the bytes. */
const UNDECLARED = /^(?:unknown-8bit|x-unknown|unknown|x-user-defined|8bit|binary|none|default|_iso-2022-jp\$esc)$/;

/** Return a decoder for a WHATWG label, a common alias or `cp` with a number; null for an unknown label. */
export function openDecoder(label: string): Decoder | null {
  const known = label.trim().toLowerCase();
  if (UNDECLARED.test(known)) return null;
  const plain = known.replace(/^(?:x-|cs)/, '').replace(/[\s._-]+/g, '');
  const codePage = /^(?:cp|ms|ibm|windows|dos|mswin|windowscp)?(\d{3,5})$/.exec(plain)?.[1];
  const name = ALIASES[plain] ?? (codePage === undefined ? null : labelOfCodePage(Number(codePage))) ?? known;
  switch (name) {
    case 'johab':
      return new DoubleByteDecoder(name, johabPair);
    case 'iso-2022-kr':
      return new SevenBitDecoder(name, new DoubleByteDecoder(name, windows949Pair));
    case 'iso-2022-cn':
    case 'hz-gb-2312':
      return new SevenBitDecoder(name, new TextDecoder('gbk'));
    case 'utf-7':
      return new Utf7Decoder();
    case 'utf-32le':
    case 'utf-32be':
      return new Utf32Decoder(name === 'utf-32le');
  }
  if (/^cp\d+$/.test(name)) {
    const characters = codePageCharacters(Number(name.slice(2)));
    return characters === null ? null : new CodePageDecoder(name, characters);
  }
  return openRuntimeDecoder(name);
}

/** Open a decoder of the runtime, whose Korean and Hong Kong Chinese encodings are incomplete. */
function openRuntimeDecoder(label: string): Decoder | null {
  try {
    const decoder = new TextDecoder(label);
    if (decoder.encoding === 'euc-kr') return new DoubleByteDecoder(decoder.encoding, windows949Pair);
    if (decoder.encoding === 'big5') return new DoubleByteDecoder(decoder.encoding, big5Pair);
    return decoder;
  } catch {
    return null;
  }
}
