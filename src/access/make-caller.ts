import { type Caller, hasScope, type Scope } from './caller.ts';
import type { ApiKeyFacts, UserFacts } from './credential-store.ts';
import { SCOPES_BY_ROLE } from './roles.ts';

/** Create the caller for an API key. It never has more rights than the key's user. */
export function callerOfKey(key: ApiKeyFacts): Caller {
  const allowed = key.user ? SCOPES_BY_ROLE[key.user.role] : null;
  return Object.freeze({
    kind: 'api_key',
    actor: `key:${key.id}`,
    orgId: key.orgId,
    plan: key.plan,
    userId: key.user?.id ?? null,
    role: null, // a key is not a session of its user
    department: key.user?.department ?? null,
    groups: key.groups,
    scopes: new Set(key.scopes.filter((scope) => allowed?.has(scope) ?? true)),
    authLevel: Math.min(key.authLevel, key.user?.authLevel ?? 10),
    ...(key.limits === null ? {} : { limits: key.limits }),
  });
}

export function callerOfUser(user: UserFacts): Caller {
  return Object.freeze({
    kind: 'user',
    actor: `user:${user.id}`,
    orgId: user.orgId,
    plan: user.plan,
    userId: user.id,
    role: user.role,
    department: user.department,
    groups: user.groups,
    scopes: SCOPES_BY_ROLE[user.role],
    authLevel: user.authLevel,
  });
}

/** Create the caller for a client that a person authorised. It never has more rights than the person. */
export function callerOfGrant(person: Caller, grant: NonNullable<Caller['grant']>, scopes: readonly Scope[]): Caller {
  return Object.freeze({
    ...person,
    kind: 'grant',
    actor: `grant:${grant.id}`,
    role: null, // a client is not a session of its person
    scopes: new Set(scopes.filter((scope) => hasScope(person, scope))),
    grant,
  });
}
