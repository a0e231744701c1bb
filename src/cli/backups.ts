import { type BackupTarget, openTarget, targetExists, withOpenTarget } from '../backup/target.ts';
import type { MoveStep } from '../cells/move-context.ts';
import type { BackupLocation } from '../platform/backup-settings.ts';
import type { Config } from '../platform/config.ts';
import { invalidRequest } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import { secretKeyFile } from '../platform/secret-key.ts';
import { showSteps } from './backup-progress.ts';
import { openProgress } from './progress.ts';

/** Return the backup location from the settings. @throws AppError `invalid_request` (400) if none is set */
export function requireLocation({ backup }: Pick<Config, 'backup'>): BackupLocation {
  if (backup.to !== null) return backup.to;
  throw invalidRequest('name the place of the backups with --to, or set backup.to in service.yaml', 'to');
}

/**
 * Open a backup location, run `use`, and close it again. With `mayBeMissing`, `use` gets null for a missing folder.
 *
 * @throws AppError from `openTarget`
 */
export async function withTarget<T>(
  config: Config,
  location: BackupLocation,
  options: { readonly logger: Logger; readonly creates?: boolean; readonly mayBeMissing: true },
  use: (target: BackupTarget | null) => Promise<T>,
): Promise<T>;
export async function withTarget<T>(
  config: Config,
  location: BackupLocation,
  options: { readonly logger: Logger; readonly creates?: boolean },
  use: (target: BackupTarget) => Promise<T>,
): Promise<T>;
export async function withTarget<T>(
  config: Config,
  location: BackupLocation,
  options: { readonly logger: Logger; readonly creates?: boolean; readonly mayBeMissing?: true },
  use: (target: never) => Promise<T>,
): Promise<T> {
  const { logger, creates = false, mayBeMissing = false } = options;
  if (mayBeMissing && !(await targetExists(location))) return use(null as never);
  const target = await openTarget(config, location, { logger, creates });
  return withOpenTarget(target, (open) => use(open as never));
}

/** Run work, and show its steps as progress. */
export async function withSteps<T>(work: (onProgress: (step: MoveStep) => void) => Promise<T>): Promise<T> {
  const progress = await openProgress();
  try {
    return await work(showSteps(progress));
  } finally {
    progress.close();
  }
}

/** Describe where the secret key is, which no backup contains. */
export function secretKeyNote({ secretKey, dataDir }: Pick<Config, 'secretKey' | 'dataDir'>): string {
  const place = secretKey === null ? `in ${secretKeyFile(dataDir)}` : 'the value of SERVICE_SECRET_KEY (secret_key)';
  return `The secret key is not in the backup. It is ${place}. Keep a copy of it apart from the backups, with service.yaml: without the key no backup can be restored.`;
}
