import { forbidden } from '../platform/errors.ts';
import type { KeyLimits } from './key-limits.ts';

/** Scopes of keys and tokens. Reading resources of the caller's organization needs no scope. */
export const SCOPES = [
  'embed',
  'search',
  'documents:write',
  'jobs:write',
  'buckets:manage',
  'channels:manage',
  'channels:send',
  'webhooks:manage',
  'routing:manage',
  'sources:manage',
  'workflows:run',
  'workflows:manage',
  'workflows:approve',
  'keys:manage',
  'users:manage',
  'groups:manage',
  'platform_admin',
] as const;
export type Scope = (typeof SCOPES)[number];

export const ROLES = ['member', 'admin', 'owner', 'org_admin', 'platform_admin'] as const;
export type Role = (typeof ROLES)[number];

export const PLANS = ['enterprise', 'business', 'pro', 'paid', 'starter', 'free'] as const;
export type Plan = (typeof PLANS)[number];

/** Caller of an operation. Only `resolve-caller.ts` creates it from credentials. */
export interface Caller {
  readonly kind: 'api_key' | 'user' | 'operator' | 'channel' | 'grant';
  /**
   * Name of this caller in the audit log: `key:<id>`, `user:<id>`, `operator:<os user>`, `channel:<id>` or
   * `grant:<id>`.
   */
  readonly actor: string;
  readonly orgId: string;
  readonly plan: Plan;
  /** User of the token, or owner of the key; null for neither. */
  readonly userId: string | null;
  readonly role: Role | null;
  readonly department: string | null;
  /** Sorted names of the groups of the user, or of a key without a user. Absent for none. */
  readonly groups?: readonly string[];
  readonly scopes: ReadonlySet<Scope>;
  /** Highest `privacy_level` that this caller may see, 1 to 10. */
  readonly authLevel: number;
  /** Limits of the key. They also apply to a client that the key's holder authorised. Absent for none. */
  readonly limits?: KeyLimits;
  /**
   * Set for a caller outside the organization. `unrestricted` hides documents classified as restricted or confidential.
   * `public` also hides documents that aren't public_accessible.
   */
  readonly outside?: 'unrestricted' | 'public';
  /** Set for a client that acts for a person through an access token. */
  readonly grant?: {
    readonly id: string;
    readonly clientId: string;
    readonly clientName: string;
    /** Person who granted access: the `actor` of that caller. */
    readonly givenBy: string;
    /** Audience of the token: the address of a tool server. */
    readonly resource: string;
  };
}

export function hasScope(caller: Caller, scope: Scope): boolean {
  return caller.scopes.has(scope) || (scope === 'channels:send' && caller.scopes.has('channels:manage'));
}

/** @throws AppError `scope_missing` (403), which names the scope */
export function requireScope(caller: Caller, scope: Scope): void {
  if (!hasScope(caller, scope)) throw forbidden(`this needs the scope "${scope}"`, 'scope_missing');
}
