import { seal, unseal } from '../platform/seal.ts';
import type { KeyRing } from '../platform/secret-key.ts';

/** Return the encryption context of the sealed pepper of an organization's keys. */
export function pepperContextOf(orgId: string): string {
  return `api_key_pepper/${orgId}`;
}

/** Encrypt the pepper of another installation. */
export function sealPepper(encryption: Buffer, pepper: Buffer, orgId: string): Buffer {
  return seal(encryption, pepper.toString('base64url'), pepperContextOf(orgId));
}

/** Return the pepper of a key's hash. @throws AppError `sealed_value_unreadable` (500) */
export function pepperOf(
  { apiKeyPepper, encryption }: Pick<KeyRing, 'apiKeyPepper' | 'encryption'>,
  { orgId, sealedPepper }: { readonly orgId: string; readonly sealedPepper: Buffer | null },
): Buffer {
  if (sealedPepper === null) return apiKeyPepper;
  return Buffer.from(unseal(encryption, sealedPepper, pepperContextOf(orgId)), 'base64url');
}
