import { createDecipheriv } from 'node:crypto';
import { ExtractError } from '../errors.ts';
import { readRecords, TAG } from './hwp-records.ts';

const KEY_DATA_BYTES = 256;
const KEY_BYTES = 16;

/**
 * Decrypt the records of a section of a distribution document, which anyone may read but nobody may edit. The records
 * stay compressed. The section's first record contains the key, scrambled by a random number generator whose seed comes
 * first ("HWP Document File Formats: distribution documents", revision 1.2, by Hancom).
 * @throws ExtractError `corrupt`
 */
export function decryptDistributed(stored: Buffer): Buffer {
  const first = readRecords(stored).next().value;
  if (first === undefined || first.tag !== TAG.distributeDocData || first.data.length !== KEY_DATA_BYTES) {
    throw new ExtractError('corrupt', 'a section of the document is damaged');
  }
  const keyData = Buffer.from(first.data);
  const seed = keyData.readUInt32LE(0);
  const next = generator(seed);
  let value = 0;
  for (let at = 0, left = 0; at < KEY_DATA_BYTES; at++, left--) {
    if (left === 0) {
      value = next() & 0xff;
      left = (next() & 0x0f) + 1;
    }
    // The bytes of the seed are not scrambled, but the generator advances for them.
    if (at >= 4) keyData[at] = (keyData[at] as number) ^ value;
  }
  const keyAt = 4 + (seed & 0x0f);
  const decipher = createDecipheriv('aes-128-ecb', keyData.subarray(keyAt, keyAt + KEY_BYTES), null);
  decipher.setAutoPadding(false);
  const body = stored.subarray(4 + KEY_DATA_BYTES);
  return decipher.update(body.subarray(0, body.length - (body.length % KEY_BYTES)));
}

/** Create the pseudo-random number generator of Microsoft's C library: 0..32767. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 214_013) + 2_531_011) | 0;
    return (state >>> 16) & 0x7fff;
  };
}
