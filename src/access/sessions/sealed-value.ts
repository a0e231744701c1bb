import type { z } from 'zod';
import { seal, unseal } from '../../platform/seal.ts';
import type { KeyRing } from '../../platform/secret-key.ts';

/** Value that a browser keeps for this service, with its expiry in milliseconds since 1970. */
interface Expiring {
  readonly untilMs: number;
}

/** Encrypt a value for a browser to keep. @param context purpose; values can't be read for another purpose */
export function sealFor<T extends Expiring>(keyRing: Pick<KeyRing, 'encryption'>, value: T, context: string): string {
  return seal(keyRing.encryption, JSON.stringify(value), context).toString('base64url');
}

/** Decrypt a value that this service sealed for a browser; null if invalid or expired. */
export function readSealed<T extends Expiring>(
  keyRing: Pick<KeyRing, 'encryption'>,
  sealed: string | null,
  schema: z.ZodType<T>,
  context: string,
): T | null {
  if (sealed === null) return null;
  try {
    const value = schema.parse(JSON.parse(unseal(keyRing.encryption, Buffer.from(sealed, 'base64url'), context)));
    return value.untilMs < Date.now() ? null : value;
  } catch {
    return null;
  }
}
