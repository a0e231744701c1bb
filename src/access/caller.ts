import { forbidden } from '../platform/errors.ts';

/** Everything that a key or token can be allowed to do. Reads of the organization's own resources need none. */
export const SCOPES = [
  'embed',
  'search',
  'documents:write',
  'jobs:write',
  'buckets:manage',
  'channels:manage',
  'channels:send',
  'routing:manage',
  'sources:manage',
  'workflows:run',
  'workflows:manage',
  'workflows:approve',
  'platform_admin',
] as const;
export type Scope = (typeof SCOPES)[number];

export const ROLES = ['member', 'admin', 'owner', 'org_admin', 'platform_admin'] as const;
export type Role = (typeof ROLES)[number];

export const PLANS = ['enterprise', 'business', 'pro', 'paid', 'starter', 'free'] as const;
export type Plan = (typeof PLANS)[number];

/** Who is asking, after the one resolver of credentials (`resolve-caller.ts`) has looked at them. */
export interface Caller {
  readonly kind: 'api_key' | 'user' | 'operator';
  /** `key:<id>`, `user:<id>` or `operator:<os user>`: how the audit log names this caller. */
  readonly actor: string;
  readonly orgId: string;
  readonly plan: Plan;
  /** The user behind the token, or the one that the key belongs to. */
  readonly userId: string | null;
  readonly role: Role | null;
  readonly department: string | null;
  readonly scopes: ReadonlySet<Scope>;
  /** 1..10: the highest `privacy_level` that this caller may see. */
  readonly authLevel: number;
}

export function hasScope(caller: Caller, scope: Scope): boolean {
  return caller.scopes.has(scope) || (scope === 'channels:send' && caller.scopes.has('channels:manage'));
}

/** @throws AppError `scope_missing` (403) naming the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!hasScope(caller, scope)) throw forbidden(`this needs the scope "${scope}"`, 'scope_missing');
}
