import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError, conflict } from '../platform/errors.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { MANIFEST_BYTES_MAX, manifestKey, signatureKey } from './layout.ts';
import type { BackupTarget } from './target.ts';

export type SigningKey = Pick<KeyRing, 'backupSigning'>;

/**
 * Sign a manifest: HMAC-SHA-256 under a key derived from the secret key of the installation. The manifest contains the
 * SHA-256 of every table and of the list of files, so the signature covers the whole backup.
 */
export function signManifest({ backupSigning }: SigningKey, manifest: Uint8Array): string {
  return createHmac('sha256', backupSigning).update(manifest).digest('hex');
}

/**
 * Check that a backup was created by an installation with this secret key, and hasn't changed since.
 * @param options.acceptsUnsigned true to accept a backup without a signature, as created by earlier releases
 * @throws AppError `backup_unsigned`, `backup_forged` (409)
 */
export async function requireSigned(
  { objects, name }: BackupTarget,
  id: string,
  key: SigningKey,
  { acceptsUnsigned }: { readonly acceptsUnsigned: boolean },
): Promise<void> {
  const read = async (file: string) => Buffer.from(await objects.get(file, { maxBytes: MANIFEST_BYTES_MAX }));
  const signature = await read(signatureKey(id)).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'object_not_found') return null;
    throw error;
  });
  if (signature === null) {
    if (acceptsUnsigned) return;
    throw conflict(
      `the backup ${id} in ${name} has no signature: an earlier release made it, or somebody who changed it removed the signature. If only you can write to ${name}, restore it with --accept-unsigned`,
      'backup_unsigned',
    );
  }
  const expected = Buffer.from(`${signManifest(key, await read(manifestKey(id)))}\n`);
  if (signature.length === expected.length && timingSafeEqual(signature, expected)) return;
  throw conflict(
    `the signature of the backup ${id} in ${name} is wrong: the backup was changed, or made with another secret key; use another backup`,
    'backup_forged',
  );
}
