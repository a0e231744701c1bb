import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import path from 'node:path';
import { openTarget, type TargetConfig } from '../../src/backup/target.ts';
import { activateOrganization } from '../../src/cells/activate-organization.ts';
import { readExportKey } from '../../src/cells/export-key.ts';
import { exportOrganization } from '../../src/cells/export-organization.ts';
import { checkImport, importOrganization } from '../../src/cells/import-organization.ts';
import type { MoveOptions, MoveStep } from '../../src/cells/move-context.ts';
import { releaseOrganization, takeBack } from '../../src/cells/release-organization.ts';
import { importContextOf, moveContextOf } from '../../src/cli/moves.ts';
import type { BackupLocation } from '../../src/platform/backup-settings.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeFolder, never } from '../backup/support.ts';
import type { TestApi } from '../support/api.ts';
import type { TestAppliance } from '../support/appliance.ts';

const logger = openLogger('error');

export interface StepOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (step: MoveStep) => void;
}

/** Folder of an export, with the commands of both installations. */
export interface Move {
  readonly directory: string;
  readonly keyFile: string;
  exportFrom(source: TestAppliance, options?: StepOptions & { waitMs?: number }): ReturnType<typeof exportOrganization>;
  check(target: TestAppliance, options?: StepOptions & { name?: string }): ReturnType<typeof checkImport>;
  importInto(target: TestAppliance, options?: StepOptions & { name?: string }): ReturnType<typeof importOrganization>;
  release(source: TestAppliance): ReturnType<typeof releaseOrganization>;
  activate(target: TestAppliance, waitMs?: number): ReturnType<typeof activateOrganization>;
  cancel(source: TestAppliance, options?: { force?: boolean }): ReturnType<typeof takeBack>;
  remove(): void;
}

/**
 * Make an empty folder for the move of an organization, and a key.
 * @param onS3 place on S3 instead of the folder, and settings that reach it
 */
export function openMove(
  organization: string,
  onS3: { readonly location: BackupLocation; readonly config: TargetConfig } | null = null,
): Move {
  const folder = makeFolder();
  const directory = path.join(folder.directory, 'export');
  const keyFile = path.join(folder.directory, 'move.key');
  const place = onS3 ?? {
    location: { kind: 'folder', directory } as const,
    config: loadConfig({ env: {}, overrides: { data_dir: '/nowhere/else' } }),
  };
  const openPlace = () => openTarget(place.config, place.location, { logger, creates: false });
  const optionsOf = async ({ signal = never(), onProgress }: StepOptions): Promise<MoveOptions> => ({
    ...{
      place: await openPlace(),
      key: readExportKey(keyFile, { creates: true }),
      actor: 'operator:test',
      signal,
    },
    ...(onProgress ? { onProgress } : {}),
  });
  mkdirSync(directory);
  return {
    directory,
    keyFile,
    exportFrom: async ({ appliance }, { waitMs = 60_000, ...options } = {}) =>
      exportOrganization(moveContextOf(appliance), organization, { ...(await optionsOf(options)), waitMs }),
    check: async ({ appliance }, { name, ...options } = {}) =>
      checkImport(importContextOf(appliance), { ...(await optionsOf(options)), name: name ?? null }),
    importInto: async ({ appliance }, { name, ...options } = {}) =>
      importOrganization(importContextOf(appliance), { ...(await optionsOf(options)), name: name ?? null }),
    release: async ({ appliance }) => releaseOrganization(moveContextOf(appliance), organization, await optionsOf({})),
    activate: async ({ appliance }, waitMs = 0) =>
      activateOrganization(moveContextOf(appliance), { ...(await optionsOf({})), waitMs }),
    cancel: ({ appliance }, { force = false } = {}) =>
      takeBack(moveContextOf(appliance), organization, { actor: 'operator:test', signal: never(), force }),
    remove: folder.remove,
  };
}

/** Begin a PATCH request: the service has admitted it, and waits for the rest of its body. */
export async function beginPatch({ api }: Pick<TestApi, 'api'>, key: string, path: string) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Expect: '100-continue' };
  const sent = request(`${api.url}${path}`, { method: 'PATCH', headers });
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  sent.flushHeaders();
  await once(sent, 'continue');
  return {
    /** Send the body. Return the status of the response. */
    end: async (json: unknown): Promise<number> => {
      sent.end(JSON.stringify(json));
      const [response] = await answered;
      response.resume();
      return response.statusCode as number;
    },
  };
}
