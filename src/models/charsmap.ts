/**
 * SentencePiece's table of replacements: a double-array trie over UTF-8 (darts-clone,
 * https://github.com/s-yata/darts-clone). Its values are positions in a list of zero-terminated replacements.
 */
export interface Charsmap {
  /** Find the replacement of the shortest prefix of `text` with a replacement, or return null. */
  find(text: string): string | null;
}

/**
 * Read the `precompiled_charsmap` of a `tokenizer.json`.
 *
 * @param table base64 of the length of the trie in bytes (uint32), the trie (uint32 each) and the replacements, all
 *   little-endian
 * @throws RangeError if the table is truncated
 */
export function readCharsmap(table: string): Charsmap {
  const bytes = Buffer.from(table, 'base64');
  const trieBytes = bytes.readUInt32LE(0);
  const replacements = bytes.subarray(4 + trieBytes);
  if (bytes.length < 4 + trieBytes) throw new RangeError('the table of character replacements is cut off');
  const units = Uint32Array.from({ length: trieBytes / 4 }, (_, at) => bytes.readUInt32LE(4 + at * 4));
  const cache = new Map<string, string | null>();
  return {
    find(text) {
      let found = cache.get(text);
      if (found === undefined) {
        found = replacementAt(replacements, shortestPrefix(units, Buffer.from(text)));
        if (cache.size < CACHE_MAX) cache.set(text, found);
      }
      return found;
    },
  };
}

/** Maximum number of cached graphemes. Others are looked up each time. */
const CACHE_MAX = 20_000;

/** @returns the value of the shortest key that is a prefix of `key`, or -1 */
function shortestPrefix(units: Uint32Array, key: Uint8Array): number {
  let at = offsetOf(units[0] ?? 0);
  for (const byte of key) {
    if (byte === 0) break;
    at ^= byte;
    const unit = units[at] ?? 0;
    if ((unit & LABEL_BITS) !== byte) return -1;
    at ^= offsetOf(unit);
    if ((unit & HAS_LEAF) !== 0) return (units[at] ?? 0) & VALUE_BITS;
  }
  return -1;
}

const LABEL_BITS = 0x8000_00ff | 0;
const VALUE_BITS = 0x7fff_ffff;
const HAS_LEAF = 1 << 8;
const LONG_OFFSET = 1 << 9;

function offsetOf(unit: number): number {
  return (unit >>> 10) << ((unit & LONG_OFFSET) >>> 6);
}

function replacementAt(replacements: Buffer, from: number): string | null {
  if (from < 0) return null;
  const end = replacements.indexOf(0, from);
  return replacements.toString('utf8', from, end < 0 ? replacements.length : end);
}
