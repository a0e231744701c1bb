import { type Caller, requireScope } from '../access/caller.ts';
import { isOrgAdminRole } from '../access/roles.ts';
import { forbidden } from '../platform/errors.ts';

/**
 * Check that the caller may change metadata (contract 5.4): an API key with `buckets:manage`, a user with an
 * administrator role, or the operator.
 *
 * @throws AppError `scope_missing`, `role_missing` (403)
 */
export function requireMetadataManager(caller: Caller): void {
  if (caller.kind === 'api_key') requireScope(caller, 'buckets:manage');
  else if (!isOrgAdminRole(caller.role)) {
    throw forbidden('this needs a user with role admin, owner, org_admin or platform_admin', 'role_missing');
  }
}
