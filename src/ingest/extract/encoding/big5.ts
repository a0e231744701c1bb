import { type PairTable, tableOf } from './double-byte.ts';
import { big5Chunks } from './table-files.ts';

/** Mark in the table for a pair of bytes that encodes two characters. */
const PAIR_OF_CHARACTERS = '\u0fff';

/** Yield the pairs that Hong Kong added to Big5 (HKSCS), which the runtime's Big5 lacks. */
function* hongKongPairs(): Generator<[number, string]> {
  for (const [start, ...parts] of big5Chunks()) {
    let pair = Number.parseInt(start, 16);
    let last = 0;
    for (const part of parts) {
      if (typeof part === 'number') {
        for (let count = 0; count < part; count++) yield [pair++, String.fromCodePoint(++last)];
        continue;
      }
      const characters = [...part];
      for (let at = 0; at < characters.length; at++) {
        const isDouble = characters[at] === PAIR_OF_CHARACTERS;
        const text = isDouble ? `${characters[at + 1]}${characters[at + 2]}` : (characters[at] as string);
        if (isDouble) at += 2;
        last = text.codePointAt(0) as number;
        yield [pair++, text];
      }
    }
  }
}

let table: PairTable | null = null;

export const big5Pair: PairTable = (lead, trail) => {
  table ??= tableOf('big5', new Map(hongKongPairs()));
  return table(lead, trail);
};
