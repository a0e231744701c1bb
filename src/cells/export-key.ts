import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readOrCreateLine } from '../platform/create-once.ts';
import { AppError, invalidRequest } from '../platform/errors.ts';

/** Keys derived from the export key, which the operator copies to both installations. */
export interface ExportKey {
  /** AES-256-GCM key for stored credentials in the export. */
  readonly encryption: Buffer;
  /** HMAC key that signs the export. */
  readonly signing: Buffer;
}

/** Minimum length of a hard-to-guess key: 32 random bytes have 43 characters in base64url. */
const KEY_CHARS_MIN = 32;

/**
 * Read an export key from a file.
 * @param options.creates true to create a missing file (mode 0600) with a new key
 * @throws AppError `invalid_request` (400) for a file that is missing, unreadable or too short
 */
export function readExportKey(file: string, { creates }: { readonly creates: boolean }): ExportKey {
  const text = readText(file, creates);
  if (text.length < KEY_CHARS_MIN) {
    throw invalidRequest(
      `the key in ${file} is shorter than ${KEY_CHARS_MIN} characters; name a file that does not exist yet, and the export writes a new key`,
      'key_file',
    );
  }
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', text, '', `service/organization-${purpose}`, 32));
  return { encryption: derive('encryption'), signing: derive('signing') };
}

function readText(file: string, creates: boolean): string {
  try {
    return creates
      ? readOrCreateLine(file, () => randomBytes(32).toString('base64url'))
      : readFileSync(file, 'utf8').trim();
  } catch (cause) {
    throw new AppError({
      code: 'invalid_request',
      status: 400,
      param: 'key_file',
      message: `cannot read the key of the export in ${file} (${(cause as NodeJS.ErrnoException).code}); copy the file that the export wrote`,
      cause,
    });
  }
}

/** Sign a part of an export. Return HMAC-SHA-256 in hexadecimal. */
export function sign({ signing }: ExportKey, bytes: Uint8Array): string {
  return createHmac('sha256', signing).update(bytes).digest('hex');
}

/** Verify a signature in constant time. */
export function isSigned(key: ExportKey, bytes: Uint8Array, signature: string): boolean {
  const expected = Buffer.from(sign(key, bytes));
  const given = Buffer.from(signature.trim());
  return given.length === expected.length && timingSafeEqual(given, expected);
}
