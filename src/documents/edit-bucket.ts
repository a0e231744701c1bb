import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { AppError, invalidRequest } from '../platform/errors.ts';
import { isUniqueViolation, type Sql } from '../platform/postgres.ts';
import { type AccessInput, type AccessList, accessOf, changeAccessList, listOf } from './access-list.ts';
import { countBeyondPolicy, withdrawPublic } from './policy-store.ts';
import { resolveAccess } from './resolve-access.ts';
import type { BucketPolicy, EditBucket, EditedBucket } from './schema.ts';
import * as store from './store.ts';

/**
 * Change the name and policy of a bucket. No document becomes more visible. A document that is public beyond the new
 * policy becomes private at once. A document with a higher privacy level or an unlisted department keeps it. `warnings`
 * counts the affected documents that the caller may see. Concurrent uploads and edits use either the old or the new
 * policy; documents that they made public under the old one become private, too.
 *
 * @throws AppError `user_unknown`, `group_unknown` (400), `bucket_not_found` (404), `bucket_exists` (409)
 */
export async function editBucket(sql: Sql, caller: Caller, bucketRef: string, edit: EditBucket): Promise<EditedBucket> {
  const { id } = await store.findBucket(sql, caller, bucketRef);
  const access = await resolveAccess(sql, caller.orgId, edit.policy?.default_access);
  const resolved = { ...edit, policy: { ...edit.policy, default_access: access } };
  try {
    return await sql.begin((tx) => applyEdit(tx, caller, id, resolved));
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const message = `a bucket named "${edit.name}" already exists; choose another name`;
    throw new AppError({ code: 'bucket_exists', status: 409, message });
  }
}

async function applyEdit(tx: Sql, caller: Caller, id: string, edit: EditBucket): Promise<EditedBucket> {
  const { orgId, actor } = caller;
  const before = await store.lockBucket(tx, orgId, id);
  const bucket = { id, name: edit.name ?? before.name, policy: mergePolicy(before.policy, edit.policy ?? {}) };
  const after = await store.updateBucket(tx, orgId, bucket);
  const madePrivate = await withdrawPublic(tx, caller, id, after.policy);
  const { aboveLevel, otherDepartments } = await countBeyondPolicy(tx, caller, id, after.policy);
  const shown = ({ name, policy }: { name: string; policy: BucketPolicy }) => ({ name, policy });
  await recordAudit(tx, {
    orgId,
    actor,
    action: 'bucket.edit',
    target: id,
    detail: { before: shown(before), after: shown(after), made_private: madePrivate.all },
  });
  const findings: [count: number, what: string][] = [
    [madePrivate.visible, 'that were public beyond the policy are private now'],
    [aboveLevel, `with a privacy_level above ${after.policy.max_privacy_level} keep it`],
    [otherDepartments, 'of departments that are not listed keep their department'],
  ];
  const warnings = findings.flatMap(([count, what]) => (count > 0 ? [`documents ${what}: ${count}`] : []));
  return { ...after, warnings };
}

function mergePolicy(policy: BucketPolicy, edit: NonNullable<EditBucket['policy']>): BucketPolicy {
  const { departments, default_access: access, ...rest } = policy;
  const list = changeDefault(access && listOf(access), edit.default_access);
  const listed = edit.departments === undefined ? departments : (edit.departments ?? undefined);
  return {
    max_privacy_level: edit.max_privacy_level ?? rest.max_privacy_level,
    public_max_privacy_level: edit.public_max_privacy_level ?? rest.public_max_privacy_level,
    allow_public: edit.allow_public ?? rest.allow_public,
    ...(listed === undefined ? {} : { departments: listed }),
    ...(list === null ? {} : { default_access: accessOf(list) }),
  };
}

/** @throws AppError 400 for a list that would name nobody, or too many */
function changeDefault(current: AccessList | undefined, wanted: AccessInput | undefined): AccessList | null {
  const changed = changeAccessList(current ?? null, wanted === undefined ? {} : wanted);
  if ('list' in changed) return changed.list;
  throw invalidRequest(`policy.default_access: ${changed.fault}`, 'policy.default_access');
}
