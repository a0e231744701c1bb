import { openAccess } from '../access/open-access.ts';
import { createDefaultBucket } from '../documents/default-bucket.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import type { ApplianceBase, ApplianceParts, ApplianceWith, PartName } from './appliance.ts';
import type { DatabaseTargets } from './find-database.ts';
import { OpenParts } from './open-parts.ts';
import { PART_OPENERS, type PartOpener } from './part-openers.ts';
import { openStores } from './stores.ts';

/** Installation that opens its parts on demand. */
export interface Installation {
  /**
   * Open parts after their dependencies. Open each part once, and independent parts concurrently.
   * @returns the same object on each call, with all open parts
   * @throws what the `open…` of a part throws
   */
  open<Part extends PartName>(parts: readonly Part[]): Promise<ApplianceWith<Part>>;
  close(): Promise<void>;
}

export interface InstallationOptions {
  readonly logger: Logger;
  /** Maximum number of connections to PostgreSQL. A command needs few. */
  readonly poolMax?: number;
  /** Result of `findDatabase`, if it was called while this module was loading. */
  readonly database?: Promise<DatabaseTargets>;
}

/**
 * Open an installation: its stores and its callers. On an empty database, create the first callers.
 *
 * @throws AppError `postgres_unavailable` (503), `database_too_new`, `config_invalid`, and errors of `openAccess`
 */
export async function openInstallation(config: Config, options: InstallationOptions): Promise<Installation> {
  const opened = new OpenParts();
  try {
    const stores = await openStores(config, options, opened);
    const access = await openAccess({ ...stores, config, createDefaultBucket });
    if (config.objects !== null) {
      const { claimStorage } = await import('./claim-storage.ts');
      await claimStorage(config, stores.objects, access.installationId);
    }
    return installationOf({ ...stores, config, access }, opened);
  } catch (error) {
    await closeAfterFailure(opened, options.logger);
    throw error;
  }
}

/** Close the open parts after a failure. Ignore failures to close, since the first failure matters more. */
export async function closeAfterFailure(opened: { close(): Promise<void> }, logger: Logger): Promise<void> {
  await opened
    .close()
    .catch((cause) => logger.warn({ err: cause }, 'the parts that were already open could not be closed'));
}

function installationOf(base: ApplianceBase, opened: OpenParts): Installation {
  const parts = { ...base } as ApplianceBase & { -readonly [Part in PartName]: ApplianceParts[Part] };
  const opening = new Map<PartName, Promise<void>>();
  const openPart = async <Part extends PartName>(name: Part) => {
    const { needs, open }: PartOpener<ApplianceParts[Part]> = PART_OPENERS[name];
    await Promise.all(needs.map(openOnce));
    const part: ApplianceParts[Part] = await open(parts);
    // Parts close in reverse order, so each closes before its dependencies.
    opened.add(part as { close?(): Promise<void> | void });
    Object.assign(parts, { [name]: part });
  };
  const openOnce = (name: PartName): Promise<void> => {
    const begun = opening.get(name) ?? openPart(name);
    opening.set(name, begun);
    return begun;
  };
  return {
    async open(names) {
      await Promise.all(names.map(openOnce));
      return parts;
    },
    async close() {
      await Promise.allSettled(opening.values());
      await opened.close();
    },
  };
}
