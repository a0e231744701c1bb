import { randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { AppError } from '../platform/errors.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import type { Secret } from '../platform/secret.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { SCOPES } from './caller.ts';
import { createKey } from './keys.ts';
import { operatorCaller } from './operator.ts';
import { hasOrganizations, lockFirstStart } from './organization-store.ts';
import { createOrganization } from './organizations.ts';

const FIRST_START = 'first start';

export function adminKeyFile(dataDir: string): string {
  return path.join(dataDir, 'admin.key');
}

/**
 * Initialise an empty database on first start: create organization `default` (plan enterprise), its default bucket and
 * an admin key with every scope and auth level 10. Write the key to `<dataDir>/admin.key` (mode 0600).
 *
 * This is atomic. The file is durable before the transaction commits. A crash between the two leaves a file with an
 * unknown key, which the next start replaces, but never an organization without a known key. If several processes start
 * together, one does the work and the others wait.
 *
 * @param options.createDefaultBucket runs in the same transaction
 * @returns `keyFile` in any case; the file may be on another host that started first
 * @throws AppError `admin_key_not_written` (500) if the data directory is not writable
 */
export async function bootstrap(
  sql: Sql,
  options: {
    dataDir: string;
    keyRing: KeyRing;
    createDefaultBucket: (sql: Sql, orgId: string) => Promise<void>;
  },
): Promise<{ created: boolean; keyFile: string }> {
  const keyFile = adminKeyFile(options.dataDir);
  if (await hasOrganizations(sql)) return { created: false, keyFile };
  return inTransaction(sql, async (tx) => {
    await lockFirstStart(tx);
    if (await hasOrganizations(tx)) return { created: false, keyFile };
    const organization = await createOrganization(tx, `operator:${FIRST_START}`, {
      name: 'default',
      plan: 'enterprise',
    });
    await options.createDefaultBucket(tx, organization.id);
    const { key } = await createKey(tx, options.keyRing, operatorCaller(organization, FIRST_START), {
      name: 'admin',
      scopes: [...SCOPES],
      authLevel: 10,
    });
    // A paused process that lost its connection, and thus the lock, must not replace its successor's file.
    await writeKeyFile(keyFile, key, () => lockFirstStart(tx));
    return { created: true, keyFile };
  });
}

/** Write the key file atomically and durably: readers see the old file or the complete new one. */
async function writeKeyFile(keyFile: string, key: Secret, beforeReplacing: () => Promise<void>): Promise<void> {
  const folder = path.dirname(keyFile);
  const draft = `${keyFile}.${randomUUID()}`;
  try {
    await translateErrors(keyFile, async () => {
      await mkdir(folder, { recursive: true });
      await writeSynced(draft, `${key.reveal()}\n`);
    });
    await beforeReplacing();
    await translateErrors(keyFile, async () => {
      await rename(draft, keyFile);
      await syncFolder(folder);
    });
  } finally {
    await rm(draft, { force: true }).catch(() => {}); // it exists only after a failure; keep that error
  }
}

async function writeSynced(newFile: string, text: string): Promise<void> {
  const file = await open(newFile, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(folder: string): Promise<void> {
  const directory = await open(folder, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

async function translateErrors(keyFile: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    throw new AppError({
      code: 'admin_key_not_written',
      status: 500,
      message: `cannot write ${keyFile} (${(error as NodeJS.ErrnoException).code}); make the directory writable and start again`,
      cause: error,
    });
  }
}
