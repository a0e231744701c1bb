import { setTimeout as delay } from 'node:timers/promises';
import { recordAudit } from '../access/audit.ts';
import { lockForMove, markArrived } from '../access/move-store.ts';
import { prepareCopy } from '../backup/snapshot-store.ts';
import { checkLineFiles } from '../backup/verify-backup.ts';
import { conflict } from '../platform/errors.ts';
import { inTransaction } from '../platform/postgres.ts';
import { insertTables, stageSealed, stageTables } from './import-organization.ts';
import { findImport, markStep } from './import-store.ts';
import { damaged, findRelease, readManifest } from './layout.ts';
import { type MoveContext, type MoveOptions, readMoving, withMoveLock } from './move-context.ts';
import type { Manifest, Release } from './schema.ts';
import { MOVED_LAST } from './tables.ts';

const POLL_MS = 100;

export interface ActivationReport {
  readonly move_id: string;
  readonly organization: { readonly id: string; readonly name: string };
  /** Downtime since the source stopped serving the organization, computed from the clocks of both databases. */
  readonly refused_ms: number;
  readonly rows: number;
}

/**
 * Start serving an imported organization as soon as the source has released it. Repeating the call after an activation
 * changes nothing.
 * @param options.waitMs maximum wait for the release
 * @throws AppError `organization_not_imported`, `organization_not_released`, `export_damaged`, `move_running` (409);
 *   the reason of the signal
 */
export async function activateOrganization(
  context: MoveContext,
  options: MoveOptions & { readonly waitMs: number },
): Promise<ActivationReport> {
  const { place, key, signal, waitMs } = options;
  const manifest = await readManifest(place, key);
  return withMoveLock(context, manifest.organization.id, signal, async (guarded) => {
    const own = { ...options, signal: guarded };
    const record = await findImport(context.sql, { moveId: manifest.move_id });
    if (record?.isVerified !== true) {
      throw conflict(
        `the import of ${manifest.organization.name} is not finished; run "service orgs import" without --activate first`,
        'organization_not_imported',
      );
    }
    const release = await waitForRelease(own, manifest, waitMs);
    if (!record.isActivated) await activate(context, own, manifest, release);
    // The import may have renamed the organization.
    const { name } = await readMoving(context.sql, manifest.organization.id);
    return {
      move_id: manifest.move_id,
      organization: { id: manifest.organization.id, name },
      refused_ms: Math.max(0, Date.now() - Date.parse(release.released_at)),
      rows: release.tables.reduce((sum, { lines }) => sum + lines, 0),
    };
  });
}

async function waitForRelease(
  { place, key, signal }: MoveOptions,
  manifest: Manifest,
  waitMs: number,
): Promise<Release> {
  for (const untilMs = performance.now() + waitMs; ; ) {
    const release = await findRelease(place, key, manifest);
    if (release !== null) return release;
    if (performance.now() >= untilMs) {
      throw conflict(
        `the source still serves ${manifest.organization.name}, and two installations must not; run "service orgs release ${manifest.organization.name}" there, and copy the folder "last" and the files release.json and release.json.signature if the places differ`,
        'organization_not_released',
      );
    }
    await delay(POLL_MS, undefined, { signal });
  }
}

async function activate(
  { direct, keyRing }: MoveContext,
  options: MoveOptions,
  manifest: Manifest,
  release: Release,
): Promise<void> {
  const { place, actor, signal } = options;
  const { id: orgId } = manifest.organization;
  const moveId = manifest.move_id;
  const faults = await checkLineFiles(place, [...release.tables, release.sealed], signal);
  if (faults.length > 0) throw damaged(place, faults);
  const arrival = { orgId, moveId, name: manifest.organization.name, generationOffset: 0, mapVersions: {} };
  await inTransaction(direct, async (tx) => {
    await prepareCopy(tx);
    const organization = await lockForMove(tx, orgId);
    if (organization?.state !== 'arriving') {
      throw conflict(`${manifest.organization.name} is not arriving here`, 'organization_not_imported');
    }
    await stageTables(tx, release.tables, options);
    await stageSealed(tx, MOVED_LAST, release.sealed, { ...options, keyRing });
    await insertTables(tx, MOVED_LAST, release.tables, arrival, place);
    await markArrived(tx, orgId, release.suspended_at === null ? null : new Date(release.suspended_at));
    await markStep(tx, moveId, 'activated_at');
    await recordAudit(tx, { orgId, actor, action: 'organization.activate', target: moveId });
  });
}
