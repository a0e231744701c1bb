import { expect, test } from 'vitest';
import { type Caller, ROLES, SCOPES } from '../../src/access/caller.ts';
import { operatorCaller } from '../../src/access/operator.ts';
import { isOrgAdminRole, requireAtLeast, requireOrgAdmin, SCOPES_BY_ROLE } from '../../src/access/roles.ts';

const operator = operatorCaller({ id: 'org_1', plan: 'pro' }, 'root');

test('the role determines the scopes', () => {
  const allButPlatform = SCOPES.filter((scope) => scope !== 'platform_admin');
  expect(SCOPES_BY_ROLE).toEqual({
    member: new Set(['embed', 'search', 'documents:write']),
    admin: new Set(allButPlatform),
    owner: new Set(allButPlatform),
    org_admin: new Set(allButPlatform),
    platform_admin: new Set(SCOPES),
  });
});

test('every role but member administers its organization', () => {
  expect(ROLES.filter(isOrgAdminRole)).toEqual(['admin', 'owner', 'org_admin', 'platform_admin']);
  expect(isOrgAdminRole(null)).toBe(false);
});

test('an API key is not an administrator, even if it had a role', () => {
  expect(() => requireOrgAdmin(operator)).not.toThrow();
  for (const caller of [
    { ...operator, kind: 'api_key' },
    { ...operator, kind: 'user', role: 'member' },
    { ...operator, kind: 'user', role: null },
  ] satisfies Caller[]) {
    expect(() => requireOrgAdmin(caller)).toThrow(expect.objectContaining({ code: 'role_missing', status: 403 }));
  }
});

test('no caller can grant more rights than its own', () => {
  const some: Caller = { ...operator, scopes: new Set(['embed', 'channels:manage']), authLevel: 5 };
  expect(() => requireAtLeast(some, ['embed'], 5)).not.toThrow();
  expect(() => requireAtLeast(some, ['channels:send'], 1)).not.toThrow(); // implied by channels:manage
  expect(() => requireAtLeast(some, ['embed'], 6)).toThrow(expect.objectContaining({ code: 'exceeds_own_rights' }));
  expect(() => requireAtLeast(some, ['embed', 'search'], 1)).toThrow(
    expect.objectContaining({ code: 'exceeds_own_rights', message: expect.stringContaining('search') }),
  );
});
