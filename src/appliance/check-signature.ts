import { secretKeyCheckOf } from '../access/secret-key-check.ts';
import type { Manifest } from '../backup/schema.ts';
import { requireSigned } from '../backup/signature.ts';
import type { BackupTarget } from '../backup/target.ts';
import type { Config } from '../platform/config.ts';
import { deriveKeyRing, type KeyRing, readSecretKey } from '../platform/secret-key.ts';

/** Derive the keys of the installation on this host; null if its secret key isn't on this host. */
export function readKeyRing({ secretKey, dataDir }: Pick<Config, 'secretKey' | 'dataDir'>): KeyRing | null {
  const key = secretKey ?? readSecretKey(dataDir);
  return key && deriveKeyRing(key);
}

/**
 * Check the signature of a backup as a restore does, if the secret key of its installation is on this host.
 *
 * @returns false without the secret key, so that nothing was checked
 * @throws AppError `backup_unsigned`, `backup_forged` (409)
 */
export async function checkSignature(
  config: Pick<Config, 'secretKey' | 'dataDir'>,
  target: BackupTarget,
  manifest: Manifest,
): Promise<boolean> {
  const keyRing = readKeyRing(config);
  if (keyRing === null || secretKeyCheckOf(keyRing).toString('hex') !== manifest.secret_key_check) return false;
  await requireSigned(target, manifest.id, keyRing, { acceptsUnsigned: false });
  return true;
}
