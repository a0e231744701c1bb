import { createHmac } from 'node:crypto';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { isSameHash } from './api-key-format.ts';
import { claimSecretKeyCheck } from './organization-store.ts';

/**
 * A database belongs to one secret key: under another one every API key and token in it would be refused, with
 * nothing to tell why. The first start leaves a keyed hash of a constant; every later one compares.
 *
 * @throws AppError `secret_key_mismatch` (500)
 */
export async function checkSecretKey(sql: Sql, keyRing: KeyRing): Promise<void> {
  const mine = createHmac('sha256', keyRing.apiKeyPepper).update('secret-key-check').digest();
  if (isSameHash(await claimSecretKeyCheck(sql, mine), mine)) return;
  throw new AppError({
    code: 'secret_key_mismatch',
    status: 500,
    message:
      'the database was set up under another secret key: set SERVICE_SECRET_KEY to that one, or use the data directory that holds its secret.key',
  });
}
