import type { Decoder } from './decoder.ts';

const ESCAPE = 0x1b;
const SHIFT_OUT = 0x0e;
const SHIFT_IN = 0x0f;
const NEWLINE = 0x0a;
const TILDE = 0x7e;

/**
 * Decoder for 7-bit text: escape sequences and shifts mark byte pairs, which are those of an 8-bit encoding without the
 * high bit. `iso-2022` uses SO and SI, `hz` uses `~{` and `~}`.
 */
export class SevenBitDecoder {
  readonly encoding: string;
  readonly #inner: Decoder;
  readonly #isHz: boolean;
  #isShifted = false;
  /** Start of a sequence that a later call may complete. */
  #held: number[] = [];

  constructor(encoding: string, inner: Decoder) {
    this.encoding = encoding;
    this.#inner = inner;
    this.#isHz = encoding === 'hz-gb-2312';
  }

  decode(bytes: Uint8Array = new Uint8Array(), { stream = false } = {}): string {
    const plain: number[] = [];
    for (const byte of bytes) {
      if (this.#held.length > 0) this.#continue(byte, plain);
      else if (byte === (this.#isHz ? TILDE : ESCAPE)) this.#held.push(byte);
      else if (!this.#isHz && (byte === SHIFT_OUT || byte === SHIFT_IN)) this.#isShifted = byte === SHIFT_OUT;
      else this.#put(byte, plain);
    }
    if (!stream) this.#held = [];
    return this.#inner.decode(Uint8Array.from(plain), { stream });
  }

  #put(byte: number, plain: number[]): void {
    // A shift ends with its line.
    if (byte === NEWLINE) this.#isShifted = false;
    plain.push(this.#isShifted && byte > 0x20 && byte < 0x7f ? byte | 0x80 : byte);
  }

  /** Take the next byte of a sequence: `~` and one byte, or an escape up to the first byte from 0x40. */
  #continue(byte: number, plain: number[]): void {
    if (!this.#isHz) {
      if (byte >= 0x40 || byte < 0x20) this.#held = [];
      else this.#held.push(byte);
      return;
    }
    this.#held = [];
    if (byte === 0x7b || byte === 0x7d) this.#isShifted = byte === 0x7b;
    else if (byte === TILDE) plain.push(TILDE);
    else if (byte !== NEWLINE) plain.push(TILDE, byte);
  }
}
