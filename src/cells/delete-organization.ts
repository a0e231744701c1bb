import { recordAudit } from '../access/audit.ts';
import { lockForMove } from '../access/move-store.ts';
import { findFirstOrganization } from '../access/organization-store.ts';
import { findOrganization } from '../access/organizations.ts';
import { prepareCopy } from '../backup/snapshot-store.ts';
import type { IndexRemoval } from '../documents/remove-documents.ts';
import { conflict, notFound } from '../platform/errors.ts';
import { deleteEachPrefix } from '../platform/objects/each-object.ts';
import { inTransaction } from '../platform/postgres.ts';
import { deleteRows, selectBucketIds } from './delete-store.ts';
import { prefixesOf } from './export-organization.ts';
import { type MoveContext, type MoveOptions, withMoveLock } from './move-context.ts';

/**
 * Delete an organization that has moved away or whose import is not activated: indexes, then files, then rows. After an
 * interruption, the next call continues.
 * @throws AppError `organization_not_found` (404), `organization_served`, `first_organization`, `move_running` (409)
 */
export async function deleteOrganization(
  context: MoveContext & { readonly index: Pick<IndexRemoval, 'dropBucket'> },
  organizationRef: string,
  { actor, signal }: Pick<MoveOptions, 'actor' | 'signal'>,
): Promise<{ id: string; name: string; rows: number }> {
  const { sql, direct, objects, index } = context;
  const { id, name } = await findOrganization(sql, organizationRef);
  return withMoveLock(context, id, signal, async (guarded) => {
    await inTransaction(sql, async (tx) => {
      const organization = await lockForMove(tx, id);
      if (organization === null) throw notFound('organization', id);
      if (organization.state !== 'moved' && organization.state !== 'arriving') {
        throw conflict(
          `${name} is served here; only an organization that has moved to another installation, or whose import is not finished, can be deleted`,
          'organization_served',
        );
      }
      if ((await findFirstOrganization(tx)) === id) {
        throw conflict(
          `${name} is the first organization of the installation and cannot be deleted`,
          'first_organization',
        );
      }
    });
    for (const bucketId of await selectBucketIds(sql, id)) await index.dropBucket(bucketId, guarded);
    await deleteEachPrefix(objects, prefixesOf(id), { signal: guarded });
    const rows = await inTransaction(direct, async (tx) => {
      await prepareCopy(tx);
      const deleted = await deleteRows(tx, id);
      await recordAudit(tx, { orgId: null, actor, action: 'organization.delete', target: id, detail: { name } });
      return deleted;
    });
    return { id, name, rows };
  });
}
