import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { checkSignature } from '../../src/appliance/check-signature.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { type RestoreReport, restoreInstallation } from '../../src/appliance/restore-installation.ts';
import { findBackup } from '../../src/backup/layout.ts';
import { type BackupReport, makeBackup, withBackupLock } from '../../src/backup/make-backup.ts';
import type { OnProgress } from '../../src/backup/schema.ts';
import { type BackupTarget, openTarget } from '../../src/backup/target.ts';
import { verifyBackup } from '../../src/backup/verify-backup.ts';
import type { BackupLocation } from '../../src/platform/backup-settings.ts';
import { type Config, loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { makeDataDir } from '../support/appliance.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

const logger = openLogger('error');
export const never = () => new AbortController().signal;

/** Create a folder for backups. */
export function makeFolder(): { location: BackupLocation; directory: string; remove: () => void } {
  const directory = mkdtempSync(path.join(tmpdir(), 'service-test-backup-'));
  return {
    location: { kind: 'folder', directory },
    directory,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/** Make a backup as the command does. */
export async function backUp(
  appliance: Appliance,
  location: BackupLocation,
  options: { signal?: AbortSignal; onProgress?: OnProgress } = {},
): Promise<BackupReport> {
  const { signal = never(), onProgress } = options;
  const target = await openTarget(appliance.config, location, { logger, creates: true });
  try {
    return await withBackupLock(appliance.backup.direct, signal, (guarded) =>
      makeBackup(appliance.backup, target, {
        ...{ actor: 'operator:test', trigger: 'command', signal: guarded },
        ...(onProgress ? { onProgress } : {}),
      }),
    );
  } finally {
    await target.objects.close();
  }
}

/** Open a place of backups with the settings of an installation that keeps its files elsewhere. */
export function openPlace(location: BackupLocation): Promise<BackupTarget> {
  const config = loadConfig({ env: {}, overrides: { data_dir: '/nowhere/else' } });
  return openTarget(config, location, { logger, creates: false });
}

/** Verify the newest backup of a folder, and its signature if `dataDir` has the secret key. */
export async function verifyNewest(location: BackupLocation, dataDir: string | null = null) {
  const target = await openPlace(location);
  const { manifest, report } = await verifyBackup(target, await findBackup(target, null), { signal: never() });
  const isChecked = dataDir !== null && (await checkSignature({ secretKey: null, dataDir }, target, manifest));
  expect(isChecked).toBe(dataDir !== null);
  return report;
}

/** Another machine: an empty database and a data directory, which holds the secret key unless `key` is null. */
export interface OtherMachine {
  readonly config: Config;
  readonly database: TestDatabase;
  readonly dataDir: string;
  restore(location: BackupLocation, options?: RestoreOptions): Promise<RestoreReport>;
  open(): Promise<Appliance>;
  remove(): Promise<void>;
}

interface RestoreOptions {
  readonly force?: boolean;
  readonly acceptsUnsigned?: boolean;
  readonly backup?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: OnProgress;
}

/** @param key text of secret.key; null: there is none */
export async function openOtherMachine(key: string | null): Promise<OtherMachine> {
  const database = await createTestDatabase({ isEmpty: true });
  const { dataDir, remove } = makeDataDir();
  if (key !== null) writeFileSync(path.join(dataDir, 'secret.key'), key);
  const config = loadConfig({ env: {}, overrides: { data_dir: dataDir, database_url: database.url } });
  return {
    ...{ config, database, dataDir },
    restore: (location, { force = false, acceptsUnsigned = false, backup, signal = never(), onProgress } = {}) =>
      restoreInstallation(config, {
        ...{ location, backup: backup ?? null, force, acceptsUnsigned, actor: 'operator:test', logger, signal },
        ...(onProgress ? { onProgress } : {}),
      }),
    open: () => openAppliance(config, { logger, poolMax: 8 }),
    async remove() {
      await database.drop();
      remove();
    },
  };
}

export function secretKeyOf(dataDir: string): string {
  return readFileSync(path.join(dataDir, 'secret.key'), 'utf8');
}

/** Copy a folder of backups, so that a test may break the copy. */
export function copyFolder(from: string): ReturnType<typeof makeFolder> {
  const copy = makeFolder();
  cpSync(from, copy.directory, { recursive: true });
  return copy;
}

/** Search a bucket; returns the found texts with their scores. */
export async function searchTexts(
  appliance: Appliance,
  caller: Caller,
  bucket: string,
  query: string,
): Promise<[text: string, score: number][]> {
  const request = SearchRequest.parse({ query, top_k: 10 });
  const { results } = await searchBucket(appliance.search, caller, bucket, request);
  return results.map(({ text, score }) => [text, score]);
}
