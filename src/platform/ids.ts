import { randomFillSync } from 'node:crypto';

const RANDOM_BYTES = 16;
/** Random bytes for 256 ids. A call to the generator costs more than the remaining work for an id. */
const pool = new Uint8Array(256 * RANDOM_BYTES);
let used = pool.length;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'; // Crockford base 32, lower case

/**
 * Create an identifier such as `doc_01k9z…`: a prefix that names the kind, 48 bits of milliseconds since 1970
 * and 80 random bits in Crockford base 32 (the ULID layout), so that ids of one kind sort by creation time.
 */
export function newId(prefix: string, nowMs: number = Date.now()): string {
  let time = '';
  for (let rest = nowMs, i = 0; i < 10; i++) {
    time = ALPHABET.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  let random = '';
  for (const end = used + RANDOM_BYTES; used < end; used++) random += ALPHABET.charAt((pool[used] as number) & 31);
  return `${prefix}_${time}${random}`;
}

/** Read the creation time of an id, in milliseconds since 1970; null if the text is not an id of ours. */
export function idTimeMs(id: string): number | null {
  const time = /^[a-z]+_([0-9a-hjkmnp-tv-z]{10})/.exec(id)?.[1];
  if (time === undefined) return null;
  let milliseconds = 0;
  for (const character of time) milliseconds = milliseconds * 32 + ALPHABET.indexOf(character);
  return milliseconds;
}
