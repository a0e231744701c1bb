/** UTF-32 decoder. An invalid code point becomes U+FFFD. */
export class Utf32Decoder {
  readonly encoding: string;
  readonly #isLittle: boolean;
  #rest: Uint8Array = new Uint8Array();

  constructor(isLittle: boolean) {
    this.encoding = isLittle ? 'utf-32le' : 'utf-32be';
    this.#isLittle = isLittle;
  }

  decode(more: Uint8Array = new Uint8Array(), { stream = false } = {}): string {
    const bytes = Buffer.concat([this.#rest, more]);
    const whole = bytes.length - (bytes.length % 4);
    this.#rest = stream ? bytes.subarray(whole) : new Uint8Array();
    const parts: string[] = [];
    for (let at = 0; at < whole; at += 4) {
      const code = this.#isLittle ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at);
      const isCharacter = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
      if (code !== 0xfeff) parts.push(isCharacter ? String.fromCodePoint(code) : '\ufffd');
    }
    if (!stream && whole < bytes.length) parts.push('\ufffd');
    return parts.join('');
  }
}

/** UTF-7 decoder (RFC 2152), for old mail. It decodes a text as a whole, at its end. */
export class Utf7Decoder {
  readonly encoding = 'utf-7';
  readonly #parts: Uint8Array[] = [];

  decode(more: Uint8Array = new Uint8Array(), { stream = false } = {}): string {
    this.#parts.push(more);
    if (stream) return '';
    const text = Buffer.concat(this.#parts.splice(0)).toString('latin1');
    return text.replace(/\+([A-Za-z0-9+/]*)-?/g, (whole, digits: string) => {
      if (digits === '') return whole === '+-' ? '+' : whole;
      const units = Buffer.from(digits, 'base64');
      return units
        .subarray(0, units.length & ~1)
        .swap16()
        .toString('utf16le');
    });
  }
}
