import { stat } from 'node:fs/promises';
import path from 'node:path';
import { type BackupLocation, describeLocation } from '../platform/backup-settings.ts';
import type { Config } from '../platform/config.ts';
import { AppError, invalidRequest, notFound } from '../platform/errors.ts';
import { describeWriteRefusal, isRefusal } from '../platform/file-refusal.ts';
import type { Logger } from '../platform/logger.ts';
import { openDiskObjects } from '../platform/objects/disk.ts';
import type { Objects } from '../platform/objects/objects.ts';

/** Open backup location. */
export interface BackupTarget {
  readonly location: BackupLocation;
  /** Location as a user would write it. */
  readonly name: string;
  readonly objects: Objects;
}

export type TargetConfig = Pick<Config, 'dataDir' | 'objects' | 's3'>;

/**
 * Open a backup location.
 * @param options.creates true to create a missing folder; false to refuse it
 * @throws AppError `invalid_request` (400) for a location inside the installation, `backup_not_found` (404) for a
 *   missing folder, `backup_target_unusable` (503) for a folder that isn't writable
 */
export async function openTarget(
  config: TargetConfig,
  location: BackupLocation,
  { logger, creates }: { readonly logger: Logger; readonly creates: boolean },
): Promise<BackupTarget> {
  const name = describeLocation(location);
  refuseOwnStorage(config, location, name);
  if (location.kind === 's3') {
    const { openS3Objects } = await import('../platform/objects/s3.ts'); // the SDK takes a while to load
    const settings = { ...config.s3, bucket: location.bucket, prefix: location.prefix };
    return { location, name, objects: await openS3Objects(settings, logger) };
  }
  const { directory } = location;
  if (!creates && !(await isFolder(directory))) throw notFound('backup', directory);
  try {
    return { location, name, objects: await openDiskObjects({ directory }) };
  } catch (cause) {
    throw unusable(directory, cause);
  }
}

/** Use a backup location, and close it. If a folder denies access, name it in the error, with the remedy. */
export async function withOpenTarget<T>(target: BackupTarget, use: (target: BackupTarget) => Promise<T>): Promise<T> {
  try {
    return await use(target);
  } catch (error) {
    // The folder may be accessible to this user while subfolders belong to another one.
    const cause = error instanceof AppError && error.code === 'objects_unavailable' ? error.cause : null;
    if (target.location.kind === 'folder' && isRefusalIn(target.location.directory, cause)) {
      throw unusable(target.location.directory, cause);
    }
    throw error;
  } finally {
    await target.objects.close();
  }
}

function isRefusalIn(directory: string, cause: unknown): boolean {
  const { path: refused } = (cause ?? {}) as NodeJS.ErrnoException;
  return isRefusal(cause) && refused !== undefined && !path.relative(directory, refused).startsWith('..');
}

function unusable(directory: string, cause: unknown): AppError {
  const what = `cannot use the folder ${directory} for backups (${(cause as NodeJS.ErrnoException).code})`;
  const todo = isRefusal(cause) ? describeWriteRefusal(directory) : 'choose another folder';
  return new AppError({ code: 'backup_target_unusable', status: 503, cause, message: `${what}: ${todo}` });
}

/** Return true if the folder exists. A location on S3 always does. */
export async function targetExists(location: BackupLocation): Promise<boolean> {
  return location.kind === 's3' || (await isFolder(location.directory));
}

async function isFolder(directory: string): Promise<boolean> {
  const found = await stat(directory).catch(() => null);
  return found?.isDirectory() === true;
}

/**
 * Refuse a location inside the storage. A backup next to the data would be lost with it, and sweeps could remove its
 * files.
 */
function refuseOwnStorage({ dataDir, objects }: TargetConfig, location: BackupLocation, name: string): void {
  if (location.kind === 'folder') {
    const inside = path.relative(dataDir, location.directory);
    if (inside !== '' && (inside.startsWith('..') || path.isAbsolute(inside))) return;
    throw invalidRequest(`${name} is inside of the data directory ${dataDir}; choose a folder outside of it`, 'to');
  }
  if (objects === null || objects.bucket !== location.bucket || objects.prefix !== location.prefix) return;
  throw invalidRequest(`the installation keeps its own files in ${name}; choose another prefix or bucket`, 'to');
}
