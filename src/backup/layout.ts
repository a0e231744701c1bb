import { AppError, conflict } from '../platform/errors.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { sha256Of } from './files.ts';
import { FORMAT, Manifest } from './schema.ts';
import type { BackupTarget } from './target.ts';

// Layout of a place of backups:
//   backups/<id>/tables/<table>.copy.gz, references.gz, objects.gz, manifest.json
//   backups/<id>/signature    HMAC-SHA-256 of manifest.json under the secret key (`signature.ts`)
//   backups/<id>/complete     SHA-256 of manifest.json; written last, so a backup without it was not finished
//   contents/<ab>/<sha256>    contents of files, shared by all backups

export const BACKUPS_PREFIX = 'backups/';
export const CONTENTS_PREFIX = 'contents/';
export const MANIFEST_BYTES_MAX = 16 * 1024 * 1024;

export const backupPrefix = (id: string) => `${BACKUPS_PREFIX}${id}/`;
export const manifestKey = (id: string) => `${backupPrefix(id)}manifest.json`;
export const completeKey = (id: string) => `${backupPrefix(id)}complete`;
export const signatureKey = (id: string) => `${backupPrefix(id)}signature`;
export const contentKey = (sha256: string) => `${CONTENTS_PREFIX}${sha256.slice(0, 2)}/${sha256}`;

/** Backup ids in a location, newest first. */
export interface ListedBackups {
  readonly complete: readonly string[];
  /** Backups that were interrupted or are in progress. */
  readonly unfinished: readonly string[];
}

export async function listBackups(objects: Objects, signal?: AbortSignal): Promise<ListedBackups> {
  const isComplete = new Map<string, boolean>();
  for await (const { key } of objects.list(BACKUPS_PREFIX, signal ? { signal } : {})) {
    const id = key.split('/')[1] as string;
    isComplete.set(id, isComplete.get(id) === true || key === completeKey(id));
  }
  // Ids sort by creation time.
  const ids = [...isComplete.keys()].sort().reverse();
  return {
    complete: ids.filter((id) => isComplete.get(id)),
    unfinished: ids.filter((id) => !isComplete.get(id)),
  };
}

/**
 * Choose a backup in a location: the one with this id, or the newest.
 * @throws AppError `backup_not_found` (404), `backup_unfinished` (409)
 */
export async function findBackup({ objects, name }: BackupTarget, id: string | null): Promise<string> {
  const { complete, unfinished } = await listBackups(objects);
  const found = id === null ? complete[0] : complete.find((each) => each === id);
  if (found !== undefined) return found;
  const interrupted = id === null ? unfinished[0] : unfinished.find((each) => each === id);
  if (interrupted === undefined) {
    const message = id === null ? `there is no backup in ${name}` : `there is no backup ${id} in ${name}`;
    throw new AppError({ code: 'backup_not_found', status: 404, message });
  }
  throw conflict(
    `the backup ${interrupted} in ${name} was not finished, or its file "complete" is lost; make a backup again, or name another one with --backup`,
    'backup_unfinished',
  );
}

/**
 * Read the manifest of a complete backup and check that it is unchanged.
 * @throws AppError `backup_damaged` (409), `backup_format_unknown` (409)
 */
export async function readManifest({ objects }: BackupTarget, id: string): Promise<Manifest> {
  const read = async (key: string) => Buffer.from(await objects.get(key, { maxBytes: MANIFEST_BYTES_MAX }));
  const isMissing = (error: unknown) => error instanceof AppError && error.code === 'object_not_found';
  const expected = (await read(completeKey(id))).toString('latin1');
  const bytes = await read(manifestKey(id)).catch((error: unknown) => {
    if (isMissing(error)) throw damaged(id, [`${manifestKey(id)} is missing`]);
    throw error;
  });
  if (expected !== `${sha256Of(bytes)}\n`) {
    throw damaged(id, [
      `${manifestKey(id)} or ${completeKey(id)} was changed after it was written (their SHA-256 values differ)`,
    ]);
  }
  const tree: unknown = JSON.parse(bytes.toString('utf8'));
  const format = (tree as { format?: unknown }).format;
  if (format !== FORMAT) {
    throw conflict(
      `the backup ${id} has format ${format}, and this release reads format ${FORMAT}; use the release that made it, or a newer one`,
      'backup_format_unknown',
    );
  }
  return Manifest.parse(tree);
}

const FAULTS_SHOWN_MAX = 20;

/** Create the error for a damaged backup. @param faults one sentence per fault, without full stop */
export function damaged(id: string, faults: readonly string[]): AppError {
  const more = faults.length > FAULTS_SHOWN_MAX ? [`and ${faults.length - FAULTS_SHOWN_MAX} more`] : [];
  const lines = [...faults.slice(0, FAULTS_SHOWN_MAX), ...more].map((fault) => `\n  - ${fault}`);
  return new AppError({
    code: 'backup_damaged',
    status: 409,
    message: `the backup ${id} is damaged and is not used:${lines.join('')}`,
    details: { backup: id, faults: faults.slice(0, FAULTS_SHOWN_MAX) },
  });
}
