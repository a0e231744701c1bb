/** Function that returns the text of a byte pair, or undefined if the encoding has none. */
export type PairTable = (lead: number, trail: number) => string | undefined;

const BROKEN = '\ufffd';

/** Decoder for an encoding in which bytes below 0x80 are ASCII and any other byte starts a pair. */
export class DoubleByteDecoder {
  readonly encoding: string;
  readonly #textOf: PairTable;
  #lead = 0;

  constructor(encoding: string, textOf: PairTable) {
    this.encoding = encoding;
    this.#textOf = textOf;
  }

  /** Decode bytes. With `stream`, a pair may continue in the next call. An invalid pair keeps its ASCII byte. */
  decode(bytes: Uint8Array = new Uint8Array(), { stream = false } = {}): string {
    const ascii = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
    const parts: string[] = [];
    for (let at = 0; at < bytes.length; ) {
      const byte = bytes[at] as number;
      if (this.#lead !== 0) {
        const text = this.#textOf(this.#lead, byte);
        parts.push(text ?? BROKEN);
        this.#lead = 0;
        if (text !== undefined || byte >= 0x80) at++;
      } else if (byte >= 0x80) {
        this.#lead = byte;
        at++;
      } else {
        const start = at;
        while (at < bytes.length && (bytes[at] as number) < 0x80) at++;
        parts.push(ascii.toString('latin1', start, at));
      }
    }
    if (!stream && this.#lead !== 0) {
      parts.push(BROKEN);
      this.#lead = 0;
    }
    return parts.join('');
  }
}

/** Tabulate the pairs of an encoding of the runtime, plus `more` pairs that it lacks, keyed by the 16-bit pair. */
export function tableOf(label: string, more: ReadonlyMap<number, string>): PairTable {
  let table: Map<number, string> | null = null;
  return (lead, trail) => {
    table ??= new Map([...runtimePairs(label), ...more]);
    return table.get((lead << 8) | trail);
  };
}

/** Decode all pairs at once, each on its own line. */
function* runtimePairs(label: string): Generator<[number, string]> {
  const pairs: number[] = [];
  const bytes: number[] = [];
  for (let lead = 0x81; lead <= 0xfe; lead++) {
    for (let trail = 0x40; trail <= 0xfe; trail++) {
      pairs.push((lead << 8) | trail);
      bytes.push(lead, trail, 0x0a);
    }
  }
  const lines = new TextDecoder(label).decode(Uint8Array.from(bytes)).split('\n');
  for (const [index, pair] of pairs.entries()) {
    const text = lines[index] as string;
    // The runtime decodes an invalid pair to two characters or U+FFFD, and an unused one to a private character.
    if (text.length === 1 && !/[\ufffd\p{Co}]/u.test(text)) yield [pair, text];
  }
}
