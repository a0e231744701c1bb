import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { AppError } from './errors.ts';

const CIPHER = 'aes-256-gcm';
const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypt a text with AES-256-GCM (NIST SP 800-38D). Layout: version, 12-byte nonce, ciphertext, 16-byte tag.
 * @param context identity of the text's record; decryption needs the same context, so a sealed value can't be moved to
 *   another record
 */
export function seal(key: Buffer, text: string, context: string): Buffer {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce).setAAD(Buffer.from(context));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.of(VERSION), nonce, sealed, cipher.getAuthTag()]);
}

/**
 * Decrypt a value of `seal`.
 * @throws AppError `sealed_value_unreadable` (500) if the key, the context or a byte differs
 */
export function unseal(key: Buffer, sealed: Buffer, context: string): string {
  try {
    if (sealed[0] !== VERSION) throw new Error(`unknown version ${sealed[0]}`);
    const nonce = sealed.subarray(1, 1 + NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
    decipher.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(sealed.length - TAG_BYTES));
    const text = sealed.subarray(1 + NONCE_BYTES, sealed.length - TAG_BYTES);
    return Buffer.concat([decipher.update(text), decipher.final()]).toString('utf8');
  } catch (cause) {
    throw new AppError({
      code: 'sealed_value_unreadable',
      status: 500,
      message: 'a stored credential cannot be decrypted; set SERVICE_SECRET_KEY to the key under which it was stored',
      cause,
    });
  }
}
