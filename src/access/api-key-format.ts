import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Secret } from '../platform/secret.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PUBLIC_ID_CHARS = 8;
/** 62^43 > 2^256. */
const RANDOM_CHARS = 43;
const CHECKSUM_CHARS = 6;
const SHAPE = /^(svc_([0-9A-Za-z]{8})_[0-9A-Za-z]{32,128})_([0-9A-Za-z]{6})$/;

/** Longest text that can be an API key, for refusing others before they cost anything. */
export const API_KEY_CHARS_MAX = 4 + PUBLIC_ID_CHARS + 1 + 128 + 1 + CHECKSUM_CHARS;

/**
 * A new API key: `svc_<public id>_<256 random bits in base 62>_<checksum>`. The checksum is the CRC-32 of all
 * before its underscore, as six base-62 digits, so that secret scanners and typing mistakes are told from real keys
 * without a query; it is no protection.
 */
export function newApiKey(): { id: string; key: Secret } {
  const id = randomBase62(PUBLIC_ID_CHARS);
  const body = `svc_${id}_${randomBase62(RANDOM_CHARS)}`;
  return { id, key: new Secret(`${body}_${checksum(body)}`) };
}

/** The public id of a text that has the form and the checksum of an API key, else null. */
export function parseApiKey(text: string): { id: string } | null {
  const [, body, id, check] = SHAPE.exec(text) ?? [];
  if (body === undefined || id === undefined || checksum(body) !== check) return null;
  return { id };
}

/** HMAC-SHA-256 of a credential under the server's pepper: 32 bytes, the only form in which a key is stored. */
export function hashCredential(pepper: Buffer, text: string): Buffer {
  return createHmac('sha256', pepper).update(text).digest();
}

/** Compare two HMACs without telling by timing where they differ. */
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
      // 248 = 4 x 62: bytes above would make the first digits likelier than the others.
      if (byte < 248 && text.length < chars) text += ALPHABET.charAt(byte % 62);
    }
  }
  return text;
}
