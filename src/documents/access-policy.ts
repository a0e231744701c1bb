import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { forbidden } from '../platform/errors.ts';
import { AccessInput, type AccessList, changeAccessList, listOf } from './access-list.ts';
import { type BucketPolicy, CLASSIFICATIONS } from './schema.ts';
import { COMMON_SCOPE, isListed, type Reader, readsScope } from './visibility.ts';

export const REVIEW_STATUSES = ['pending', 'approved', 'rejected'] as const;

/** Access policy values that callers may request. Only the service writes the others (contract 2.7). */
export const AccessChange = z.object({
  privacy_level: z.int().min(1).max(10).optional(),
  classification: z.enum(CLASSIFICATIONS).optional(),
  review_status: z.enum(REVIEW_STATUSES).optional(),
  public_accessible: z.boolean().optional(),
  access: AccessInput.optional().describe('users and groups that may read the document; null: no such limit'),
});
export type AccessChange = z.output<typeof AccessChange> & {
  /** Department, sent as user metadata under the key `scope`. Null opens the document to every department. */
  readonly scope?: string | null | undefined;
};

/** Caller fields that the access rules depend on. */
export type AccessCaller = Reader & Pick<Caller, 'userId'>;

/**
 * Check that the caller may set this scope. A member, or a key of a user, can set the user's own department or all, but
 * not a department whose documents the user can't find. A key without a user may set any, since such keys deliver
 * documents to departments.
 *
 * @throws AppError `scope_not_yours` (403)
 */
export function requireOwnDepartment(caller: AccessCaller, scope: string | null): void {
  if (caller.userId === null || readsScope(caller, scope)) return;
  const own = caller.department === null ? 'you belong to none' : `yours is "${caller.department}"`;
  throw forbidden(
    `scope: "${scope}" is not your department (${own}); leave it out or set it to "common"`,
    'scope_not_yours',
  );
}

/** Document fields that the access rules use and callers can change. */
export interface AccessPolicy {
  readonly privacy_level: number;
  readonly classification: string;
  readonly review_status: string;
  readonly public_accessible: boolean;
  readonly scope: string | null;
  readonly access_list: AccessList | null;
}

const ACCESS_AT_UPLOAD: AccessPolicy = {
  privacy_level: 1,
  classification: 'internal',
  review_status: 'pending',
  public_accessible: false,
  scope: null,
  access_list: null,
};

/** Return the access policy of a new document unless the request says otherwise. */
export function accessAtUpload({ default_access: access }: BucketPolicy): AccessPolicy {
  return access === undefined ? ACCESS_AT_UPLOAD : { ...ACCESS_AT_UPLOAD, access_list: listOf(access) };
}

/**
 * Compute the access policy after a caller's request. Its privacy level never exceeds that of the caller or the bucket,
 * it is never public above the bucket's public level, and its department is always one that the bucket lists.
 * `warnings` lists refused parts of the request. If public and private conflict, private wins: only an explicit request
 * lowers the privacy level.
 */
export function clampAccess(
  current: AccessPolicy,
  wanted: AccessChange,
  caller: AccessCaller,
  bucket: BucketPolicy,
): { access: AccessPolicy; warnings: string[] } {
  const warnings: string[] = [];
  const level =
    wanted.privacy_level === undefined
      ? current.privacy_level
      : clampLevel(wanted.privacy_level, caller.authLevel, bucket.max_privacy_level, warnings);
  const isRequested = wanted.public_accessible !== undefined || wanted.privacy_level !== undefined;
  const isPublic = wanted.public_accessible ?? current.public_accessible;
  const access: AccessPolicy = {
    privacy_level: level,
    classification: wanted.classification ?? current.classification,
    review_status: wanted.review_status ?? current.review_status,
    public_accessible: isRequested ? clampPublic(isPublic, level, bucket, warnings) : isPublic,
    scope: clampScope(current.scope, wanted.scope, bucket, warnings),
    access_list: changeList(current.access_list, wanted.access, warnings),
  };
  if (access.scope !== current.scope && !readsScope(caller, access.scope)) {
    warnings.push(`scope "${access.scope}" is not your department, so you can no longer find the document`);
  }
  if (!isSameList(access.access_list, current.access_list) && !isListed(caller, access.access_list)) {
    warnings.push('access does not name you or a group of yours, so you cannot find the document');
  }
  return { access, warnings };
}

/** Return true if two access lists name the same users and groups. */
export function isSameList(a: AccessList | null, b: AccessList | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function changeList(current: AccessList | null, wanted: AccessInput | undefined, warnings: string[]) {
  if (wanted === undefined) return current;
  const changed = changeAccessList(current, wanted);
  if ('list' in changed) return changed.list;
  warnings.push(`access was not changed, since it ${changed.fault}`);
  return current;
}

function clampLevel(wanted: number, authLevel: number, bucketMax: number, warnings: string[]): number {
  const level = Math.min(wanted, authLevel, bucketMax);
  if (level < wanted) warnings.push(`privacy_level was lowered from ${wanted} to ${level} by policy`);
  return level;
}

function clampPublic(wanted: boolean, level: number, bucket: BucketPolicy, warnings: string[]): boolean {
  if (!wanted) return false;
  if (!bucket.allow_public) {
    warnings.push('public_accessible is false: the bucket allows no public documents');
    return false;
  }
  if (level > bucket.public_max_privacy_level) {
    warnings.push(
      `public_accessible is false: the bucket allows public documents up to privacy_level ` +
        `${bucket.public_max_privacy_level}, and this one has ${level}`,
    );
    return false;
  }
  return true;
}

function clampScope(
  current: string | null,
  wanted: string | null | undefined,
  bucket: BucketPolicy,
  warnings: string[],
): string | null {
  if (wanted === undefined || wanted === null) return wanted === null ? null : current;
  if (wanted === COMMON_SCOPE || bucket.departments === undefined || bucket.departments.includes(wanted)) return wanted;
  warnings.push(
    `scope was not changed: "${wanted}" is not a department of the bucket (${bucket.departments.join(', ')})`,
  );
  return current;
}
