import { createHmac, randomBytes } from 'node:crypto';

const RANDOM_BYTES = 32;
const SHAPE = /^[\w-]{43}$/;

/** Make a secret for a link or a cookie: 256 random bits in base64url. */
export function newLinkToken(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}

/** Return true for a text that could be such a secret. */
export function isLinkToken(text: string): boolean {
  return SHAPE.test(text);
}

/** Compute the keyed hash under which a secret is stored (HMAC-SHA-256). Each purpose gives another hash. */
export function hashLinkToken(
  key: Buffer,
  purpose: 'id' | 'csrf' | 'link' | 'invitation' | 'password-reset',
  token: string,
): Buffer {
  return createHmac('sha256', key).update(`${purpose}:${token}`).digest();
}
