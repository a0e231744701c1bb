import { setTimeout as delay } from 'node:timers/promises';
import { recordAudit } from '../access/audit.ts';
import { lockForMove, markMoved, markTakenBack, updateMoveState } from '../access/move-store.ts';
import { STATES_KEPT_MS } from '../access/moving-organizations.ts';
import { findOrganization } from '../access/organizations.ts';
import { readSnapshotTime, SNAPSHOT } from '../backup/snapshot-store.ts';
import { conflict, notFound } from '../platform/errors.ts';
import { inTransaction } from '../platform/postgres.ts';
import { waitForTransactions } from './drain.ts';
import { prepareExport } from './export-store.ts';
import { findRelease, LAST_SEALED_KEY, lastTableKey, readManifest, writeRelease } from './layout.ts';
import { type MoveContext, type MoveOptions, readMoving, withMoveLock } from './move-context.ts';
import { selectSuspension } from './release-store.ts';
import { FORMAT, type Release } from './schema.ts';
import { MOVED_LAST } from './tables.ts';
import { writeSealed, writeTables } from './write-rows.ts';

export interface ReleaseReport {
  readonly move_id: string;
  readonly organization: { readonly id: string; readonly name: string };
  readonly place: string;
  readonly released_at: string;
  readonly rows: number;
}

/**
 * Stop serving an exported organization. Its credentials are refused from now on. The target may serve the organization
 * once the last part of the export is written. After an interruption, the next call continues.
 * @throws AppError `organization_not_found`, `export_not_found` (404), `organization_not_exported`,
 *   `export_unfinished`, `export_forged`, `export_damaged`, `move_running` (409); the reason of the signal
 */
export async function releaseOrganization(
  context: MoveContext,
  organizationRef: string,
  options: MoveOptions,
): Promise<ReleaseReport> {
  const { id } = await findOrganization(context.sql, organizationRef);
  return withMoveLock(context, id, options.signal, (signal) => release(context, id, { ...options, signal }));
}

async function release(context: MoveContext, orgId: string, options: MoveOptions): Promise<ReleaseReport> {
  const { place, key, actor, signal } = options;
  const { name, state, moveId } = await readMoving(context.sql, orgId);
  const manifest = await readManifest(place, key);
  if ((state !== 'moving' && state !== 'moved') || manifest.move_id !== moveId) {
    throw conflict(
      `the export in ${place.name} is not the current one of ${name}; first run "service orgs export ${name}" with this place`,
      'organization_not_exported',
    );
  }
  let last = await findRelease(place, key, manifest);
  if (last === null) {
    await inTransaction(context.sql, async (tx) => {
      const now = await lockForMove(tx, orgId);
      if (now?.state !== 'moving') return;
      await markMoved(tx, orgId);
      await recordAudit(tx, { orgId, actor, action: 'organization.release', target: manifest.move_id });
    });
    last = await writeLast(context, orgId, manifest.move_id, { ...options, signal });
  }
  const rows = last.tables.reduce((sum, { lines }) => sum + lines, 0);
  return {
    move_id: manifest.move_id,
    organization: { id: orgId, name },
    place: place.name,
    released_at: last.released_at,
    rows,
  };
}

async function writeLast(
  { direct, keyRing }: MoveContext,
  orgId: string,
  moveId: string,
  { place, key, signal }: MoveOptions,
): Promise<Release> {
  // Wait until processes no longer accept cached credentials.
  await delay(2 * STATES_KEPT_MS, undefined, { signal });
  await waitForTransactions(direct, signal);
  const last = await direct.begin(SNAPSHOT, async (tx): Promise<Release> => {
    await prepareExport(tx, orgId);
    const releasedAt = await readSnapshotTime(tx);
    const suspendedAt = await selectSuspension(tx, orgId);
    return {
      format: FORMAT,
      move_id: moveId,
      released_at: releasedAt.toISOString(),
      suspended_at: suspendedAt?.toISOString() ?? null,
      tables: await writeTables(tx, MOVED_LAST, lastTableKey, { place, signal }),
      sealed: await writeSealed(tx, MOVED_LAST, LAST_SEALED_KEY, { place, signal, keyRing, key }),
    };
  });
  await writeRelease(place, key, last);
  return last;
}

/**
 * Cancel the export of an organization, which accepts changes again. The target can never serve that export.
 * @param options.force true to cancel even after the release, if no target serves the organization
 * @throws AppError `organization_not_found` (404), `organization_not_exported`, `organization_moved`, `move_running`
 *   (409)
 */
export async function takeBack(
  context: MoveContext,
  organizationRef: string,
  { actor, signal, force }: Pick<MoveOptions, 'actor' | 'signal'> & { readonly force: boolean },
): Promise<{ id: string; name: string }> {
  const { id } = await findOrganization(context.sql, organizationRef);
  return withMoveLock(context, id, signal, () =>
    inTransaction(context.sql, async (tx) => {
      const organization = await lockForMove(tx, id);
      if (organization === null) throw notFound('organization', id);
      const { name, state, moveId } = organization;
      if (state === null || state === 'arriving') {
        throw conflict(`${name} is not being exported`, 'organization_not_exported');
      }
      if (state === 'moved' && !force) {
        throw conflict(
          `${name} was released, and the target may serve it; delete it there ("service orgs delete ${name}"), or make sure that it never arrived, and repeat the command with --force`,
          'organization_moved',
        );
      }
      if (state === 'moved') await markTakenBack(tx, id);
      else await updateMoveState(tx, id, null);
      await recordAudit(tx, { orgId: id, actor, action: 'organization.take_back', target: moveId });
      return { id, name };
    }),
  );
}
