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

/**
 * On the first start on an empty database: organization `default` (plan enterprise), its default bucket and an
 * admin key with every scope and auth level 10, which is written to `<dataDir>/admin.key` (mode 0600).
 *
 * All or nothing. The file is in place, durably, before the transaction commits: a crash between the two leaves a
 * file whose key does not exist, which the next start replaces, never an organization whose key nobody has.
 * Of several processes that start together one does it, the others wait for it and find it done.
 *
 * @param options.createDefaultBucket runs in the same transaction
 * @returns `keyFile` whether or not this call made it; it may be on the host that made the first start
 * @throws AppError `admin_key_not_written` (500) when the data directory cannot be written
 */
export async function bootstrap(
  sql: Sql,
  options: {
    dataDir: string;
    keyRing: KeyRing;
    createDefaultBucket: (sql: Sql, orgId: string) => Promise<void>;
  },
): Promise<{ created: boolean; keyFile: string }> {
  const keyFile = path.join(options.dataDir, 'admin.key');
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
    // A process that was stopped for long enough to lose its connection, and with it the lock, must not replace the
    // file of the one that took over.
    await writeKeyFile(keyFile, key, () => lockFirstStart(tx));
    return { created: true, keyFile };
  });
}

/** Readers see the old file or the whole new one, which then survives a power failure. */
async function writeKeyFile(keyFile: string, key: Secret, beforeReplacing: () => Promise<void>): Promise<void> {
  const folder = path.dirname(keyFile);
  const draft = `${keyFile}.${randomUUID()}`;
  try {
    await writing(keyFile, async () => {
      await mkdir(folder, { recursive: true });
      await writeSynced(draft, `${key.reveal()}\n`);
    });
    await beforeReplacing();
    await writing(keyFile, async () => {
      await rename(draft, keyFile);
      await syncFolder(folder);
    });
  } finally {
    await rm(draft, { force: true }).catch(() => {}); // only ever there after a failure, which is what to report
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

async function writing(keyFile: string, write: () => Promise<void>): Promise<void> {
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
