import type { Sql } from '../platform/postgres.ts';
import { COMMON_SCOPE } from './access-policy.ts';
import type { BucketPolicy } from './schema.ts';

/** Number of documents of a bucket that exceed its policy. */
export interface BeyondPolicy {
  /** Documents whose privacy level is above the bucket's. */
  readonly aboveLevel: number;
  /** Documents of a department that the bucket does not list. */
  readonly otherDepartments: number;
}

export async function countBeyondPolicy(
  sql: Sql,
  orgId: string,
  bucketId: string,
  policy: BucketPolicy,
): Promise<BeyondPolicy> {
  const departments = [...(policy.departments ?? []), COMMON_SCOPE];
  const [row] = await sql`
    SELECT count(*) FILTER (WHERE privacy_level > ${policy.max_privacy_level})::int AS above_level,
           count(*) FILTER (WHERE ${policy.departments !== undefined}
                              AND scope <> ALL(${sql.array(departments)}::text[]))::int AS other_departments
    FROM documents WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND status <> 'deleting'`;
  return { aboveLevel: row?.['above_level'] as number, otherDepartments: row?.['other_departments'] as number };
}

/** Make documents private that the policy does not allow to be public. Return their number. */
export async function withdrawPublic(sql: Sql, orgId: string, bucketId: string, policy: BucketPolicy): Promise<number> {
  const levelMax = policy.allow_public ? policy.public_max_privacy_level : 0;
  const result = await sql`
    UPDATE documents SET public_accessible = false, updated_at = now()
    WHERE org_id = ${orgId} AND bucket_id = ${bucketId} AND public_accessible AND privacy_level > ${levelMax}
      AND status <> 'deleting'`;
  return result.count;
}
