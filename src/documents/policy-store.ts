import type { Caller } from '../access/caller.ts';
import type { Sql } from '../platform/postgres.ts';
import type { BucketPolicy } from './schema.ts';
import { COMMON_SCOPE, visibleTo } from './visibility.ts';

/** Number of documents that exceed their bucket's policy. */
export interface BeyondPolicy {
  /** Documents with a privacy level above the bucket's. */
  readonly aboveLevel: number;
  /** Documents with a department that the bucket doesn't list. */
  readonly otherDepartments: number;
}

/** Count the documents beyond a policy that the caller may see. */
export async function countBeyondPolicy(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  policy: BucketPolicy,
): Promise<BeyondPolicy> {
  const departments = [...(policy.departments ?? []), COMMON_SCOPE];
  const [row] = await sql`
    SELECT count(*) FILTER (WHERE privacy_level > ${policy.max_privacy_level})::int AS above_level,
           count(*) FILTER (WHERE ${policy.departments !== undefined}
                              AND scope <> ALL(${sql.array(departments)}::text[]))::int AS other_departments
    FROM documents WHERE org_id = ${caller.orgId} AND bucket_id = ${bucketId} AND ${visibleTo(sql, caller)}`;
  return { aboveLevel: row?.['above_level'] as number, otherDepartments: row?.['other_departments'] as number };
}

export interface MadePrivate {
  readonly all: number;
  /** Number of those that the caller may see. */
  readonly visible: number;
}

/** Make private all documents that the policy doesn't allow to be public. */
export async function withdrawPublic(
  sql: Sql,
  caller: Caller,
  bucketId: string,
  policy: BucketPolicy,
): Promise<MadePrivate> {
  const levelMax = policy.allow_public ? policy.public_max_privacy_level : 0;
  const isVisible = sql`(${visibleTo(sql, caller)}) IS TRUE`;
  const rows = await sql`
    WITH withdrawn AS (
      SELECT id, ${isVisible} AS is_visible FROM documents
      WHERE org_id = ${caller.orgId} AND bucket_id = ${bucketId} AND public_accessible AND privacy_level > ${levelMax}
        AND status <> 'deleting' FOR UPDATE)
    UPDATE documents SET public_accessible = false, updated_at = now()
    FROM withdrawn WHERE documents.id = withdrawn.id
    RETURNING withdrawn.is_visible`;
  return { all: rows.length, visible: rows.filter((row) => row['is_visible'] === true).length };
}
