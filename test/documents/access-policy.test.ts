import { describe, expect, it } from 'vitest';
import {
  type AccessCaller,
  type AccessChange,
  type AccessPolicy,
  clampAccess,
  requireOwnDepartment,
} from '../../src/documents/access-policy.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';

const CURRENT: AccessPolicy = {
  privacy_level: 1,
  classification: 'internal',
  review_status: 'pending',
  public_accessible: false,
  scope: null,
  access_list: null,
};

const ADMIN: AccessCaller = { authLevel: 7, role: 'admin', department: null, scopes: new Set(), userId: 'usr_1' };

function clamp(
  change: AccessChange,
  policy: Partial<BucketPolicy> = {},
  current: Partial<AccessPolicy> = {},
  authLevel = 7,
) {
  return clampAccess({ ...CURRENT, ...current }, change, { ...ADMIN, authLevel }, BucketPolicy.parse(policy));
}

describe('clampAccess', () => {
  it.each([
    ['no change', {}, ['nobody']],
    ['an empty list', { users: [], groups: [] }, ['nobody']],
    ['null', null, null],
    ['a group', { groups: ['legal'] }, ['group:legal']],
  ])('a list that names nobody stays after %s unless it is asked to go', (_, access, list) => {
    expect(clamp({ access }, {}, { access_list: ['nobody'] }).access.access_list).toEqual(list);
  });

  it('a change is granted if neither the bucket nor the caller forbids it', () => {
    const change = {
      privacy_level: 7,
      classification: 'restricted',
      review_status: 'approved',
      scope: 'sales',
    } as const;
    expect(clamp(change)).toEqual({ access: { ...CURRENT, ...change }, warnings: [] });
  });

  it('a change keeps fields that it does not name', () => {
    const current = { privacy_level: 9, classification: 'public', review_status: 'rejected', scope: 'legal' };
    expect(clamp({}, {}, current)).toEqual({ access: { ...CURRENT, ...current }, warnings: [] });
    const open = { privacy_level: 9, public_accessible: true };
    expect(clamp({ classification: 'public' }, {}, open).access).toMatchObject(open);
  });

  it.each([
    [9, 7, 10, 7],
    [9, 10, 4, 4],
    [3, 7, 4, 3],
  ])('privacy level %i by a caller of %i in a bucket up to %i is %i', (wanted, authLevel, max, level) => {
    const { access, warnings } = clamp({ privacy_level: wanted }, { max_privacy_level: max }, {}, authLevel);
    expect(access.privacy_level).toBe(level);
    const warning = `privacy_level was lowered from ${wanted} to ${level} by policy`;
    expect(warnings).toEqual(level === wanted ? [] : [warning]);
  });

  it('a document becomes public only if its bucket allows that', () => {
    expect(clamp({ public_accessible: true }).access.public_accessible).toBe(true);
    const strict = clamp({ public_accessible: true }, { allow_public: false });
    expect(strict.access.public_accessible).toBe(false);
    expect(strict.warnings).toEqual(['public_accessible is false: the bucket allows no public documents']);
  });

  it('a document stays private rather than having its privacy level lowered to become public', () => {
    const requested = clamp({ public_accessible: true, privacy_level: 5 });
    expect(requested.access).toMatchObject({ public_accessible: false, privacy_level: 5 });
    const raised = clamp({ privacy_level: 5 }, {}, { public_accessible: true });
    expect(raised.access).toMatchObject({ public_accessible: false, privacy_level: 5 });
    expect(raised.warnings).toEqual([
      'public_accessible is false: the bucket allows public documents up to privacy_level 1, and this one has 5',
    ]);
  });

  it('a scope can be a department of the bucket, common, or none', () => {
    const policy = { departments: ['sales'] };
    expect(clamp({ scope: 'sales' }, policy).access.scope).toBe('sales');
    expect(clamp({ scope: 'common' }, policy).access.scope).toBe('common');
    expect(clamp({ scope: null }, policy, { scope: 'sales' }).access.scope).toBeNull();
    const refused = clamp({ scope: 'legal' }, policy, { scope: 'sales' });
    expect(refused.access.scope).toBe('sales');
    expect(refused.warnings).toEqual(['scope was not changed: "legal" is not a department of the bucket (sales)']);
  });

  it('a caller who can no longer find the document is warned', () => {
    const key: AccessCaller = { ...ADMIN, role: null };
    const give = (caller: AccessCaller, scope: string | null, current: string | null = null) =>
      clampAccess({ ...CURRENT, scope: current }, { scope }, caller, BucketPolicy.parse({}));
    expect(give(key, 'sales')).toEqual({
      access: { ...CURRENT, scope: 'sales' },
      warnings: ['scope "sales" is not your department, so you can no longer find the document'],
    });
    expect(give({ ...key, department: 'sales' }, 'sales').warnings).toEqual([]);
    expect(give({ ...key, scopes: new Set(['platform_admin']) }, 'sales').warnings).toEqual([]);
    expect(give(key, 'sales', 'sales').warnings).toEqual([]);
    for (const scope of ['common', null]) expect(give(key, scope, 'sales').warnings).toEqual([]);
  });
});

describe('requireOwnDepartment', () => {
  const member: AccessCaller = { ...ADMIN, role: 'member', department: 'sales' };

  it.each([
    ['a member, their own', member, 'sales'],
    ['a member, common', member, 'common'],
    ['a member, none', member, null],
    ['an admin, any', ADMIN, 'legal'],
    ['a key without a user, any', { ...ADMIN, role: null, userId: null }, 'legal'],
    ['a key of a user, its department', { ...member, role: null }, 'sales'],
  ])('a scope is allowed: %s', (_name, caller, scope) => {
    expect(() => requireOwnDepartment(caller, scope)).not.toThrow();
  });

  it.each([
    ['of another department', member, 'yours is "sales"'],
    ['by a key', { ...member, role: null }, 'yours is "sales"'],
    ['of no department', { ...member, department: null }, 'you belong to none'],
  ])('a scope is refused to a member %s', (_name, caller, message) => {
    expect(() => requireOwnDepartment(caller, 'legal')).toThrow(
      expect.objectContaining({ code: 'scope_not_yours', status: 403, message: expect.stringContaining(message) }),
    );
  });
});
