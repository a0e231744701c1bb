import { createHmac, randomBytes } from 'node:crypto';

const RANDOM_BYTES = 32;
const SHAPE = /^[\w-]{43}$/;

/** Create a secret for a link or cookie: 256 random bits in base64url. */
export function newLinkToken(): string {
  return randomBytes(RANDOM_BYTES).toString('base64url');
}

/** Return true for a text in the form of such a secret. */
export function isLinkToken(text: string): boolean {
  return SHAPE.test(text);
}

/** Compute the keyed hash (HMAC-SHA-256) for storing a secret. It differs by purpose. */
export function hashLinkToken(
  key: Buffer,
  purpose: 'id' | 'csrf' | 'link' | 'invitation' | 'password-reset',
  token: string,
): Buffer {
  return createHmac('sha256', key).update(`${purpose}:${token}`).digest();
}
