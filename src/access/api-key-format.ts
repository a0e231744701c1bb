import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Secret } from '../platform/secret.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PUBLIC_ID_CHARS = 8;
/** Number of random base-62 digits: 62^43 > 2^256. */
const RANDOM_CHARS = 43;
const CHECKSUM_CHARS = 6;
const SHAPE = /^(svc_([0-9A-Za-z]{8})_[0-9A-Za-z]{32,128})_([0-9A-Za-z]{6})$/;

/** Maximum length of an API key. Longer texts are rejected before any work. */
export const API_KEY_CHARS_MAX = 4 + PUBLIC_ID_CHARS + 1 + 128 + 1 + CHECKSUM_CHARS;

/** Prefix of the public ids of an installation's new keys. It leaves enough characters for 62^5 keys. */
export const KEY_PREFIX = /^[0-9A-Za-z]{1,3}$/;

/**
 * Create an API key: `svc_<public id>_<256 random bits in base 62>_<checksum>`. The checksum is the CRC-32 of
 * everything before its underscore, as six base-62 digits. It lets secret scanners recognise keys, and reveals typing
 * errors without a query. It is no security measure.
 * @param prefix first characters of the public id
 */
export function newApiKey(prefix = ''): { id: string; key: Secret } {
  const id = `${prefix}${randomBase62(PUBLIC_ID_CHARS - prefix.length)}`;
  const body = `svc_${id}_${randomBase62(RANDOM_CHARS)}`;
  return { id, key: new Secret(`${body}_${checksum(body)}`) };
}

/** Return the public id of a text with the form and checksum of an API key, else null. */
export function parseApiKey(text: string): { id: string } | null {
  const [, body, id, check] = SHAPE.exec(text) ?? [];
  if (body === undefined || id === undefined || checksum(body) !== check) return null;
  return { id };
}

/** Compute the HMAC-SHA-256 of a credential under the pepper: 32 bytes, the only stored form of a key. */
export function hashCredential(pepper: Buffer, text: string): Buffer {
  return createHmac('sha256', pepper).update(text).digest();
}

/** Compare two HMACs in constant time. */
export function isSameHash(stored: Uint8Array, presented: Uint8Array): boolean {
  return stored.length === presented.length && timingSafeEqual(stored, presented);
}

function checksum(body: string): string {
  let digits = '';
  for (let rest = crc32(body), i = 0; i < CHECKSUM_CHARS; i++) {
    digits = ALPHABET.charAt(rest % 62) + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}

function randomBase62(chars: number): string {
  let text = '';
  while (text.length < chars) {
    for (const byte of randomBytes(chars)) {
      // 248 = 4 x 62. Larger bytes would bias the result towards the first digits.
      if (byte < 248 && text.length < chars) text += ALPHABET.charAt(byte % 62);
    }
  }
  return text;
}
