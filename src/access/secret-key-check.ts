import { createHmac } from 'node:crypto';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { isSameHash } from './api-key-format.ts';
import { claimSecretKeyCheck } from './organization-store.ts';

/**
 * Check that the database was set up with this secret key. With another key, every API key and token would be refused
 * without an explanation. The first start stores a keyed hash of a constant, and later starts compare it.
 * @param stored hash, if already read
 * @throws AppError `secret_key_mismatch` (500)
 */
export async function checkSecretKey(sql: Sql, keyRing: KeyRing, stored: Buffer | null = null): Promise<void> {
  const mine = secretKeyCheckOf(keyRing);
  if (isSameHash(stored ?? (await claimSecretKeyCheck(sql, mine)), mine)) return;
  throw new AppError({
    code: 'secret_key_mismatch',
    status: 500,
    message:
      'the database was set up with another secret key: set SERVICE_SECRET_KEY to that key, or use the data directory that contains its secret.key',
  });
}

/** Create the error for a missing secret key of an existing database. @param file expected name of the key file */
export function secretKeyMissing(file: string): AppError {
  return new AppError({
    code: 'secret_key_missing',
    status: 500,
    message: `the database was set up with a secret key that is missing here; copy it to ${file}, set SERVICE_SECRET_KEY to it, or use the data directory that contains it (--data-dir)`,
  });
}

/** Compute the check value of a secret key, which does not reveal the key. */
export function secretKeyCheckOf(keyRing: Pick<KeyRing, 'apiKeyPepper'>): Buffer {
  return createHmac('sha256', keyRing.apiKeyPepper).update('secret-key-check').digest();
}
