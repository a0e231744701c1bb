import { z } from 'zod';
import { isPlainName, PLAIN_NAME_RULE } from '../platform/printable.ts';
import { PLANS, ROLES, SCOPES } from './caller.ts';
import { KeyLimits } from './key-limits.ts';

/** Maximum number of organizations, users or keys in one list, newest first. */
export const LIST_ROWS_MAX = 1000;

const timestamp = z.iso.datetime();
const authLevel = z.number().int().min(1).max(10);

/** State of an organization that moves between installations. */
export const MoveState = z.enum(['draining', 'moving', 'moved', 'arriving']);
export type MoveState = z.infer<typeof MoveState>;

export const Organization = z.object({
  id: z.string(),
  name: z.string(),
  plan: z.enum(PLANS),
  suspended_at: timestamp.nullable(),
  move_state: MoveState.nullable().describe(
    'draining, moving: it is being exported, and changes are refused; moved: another installation serves it; arriving: it is being imported; null: it is served here',
  ),
  created_at: timestamp,
});
export type Organization = z.infer<typeof Organization>;

export const User = z.object({
  id: z.string(),
  org_id: z.string(),
  email: z.string(),
  role: z.enum(ROLES),
  auth_level: authLevel,
  department: z.string().nullable(),
  oidc_issuer: z.string().nullable(),
  oidc_subject: z.string().nullable(),
  has_account: z.boolean().describe('true for a person who signs in with a password or a passkey'),
  suspended_at: timestamp.nullable(),
  created_at: timestamp,
});
export type User = z.infer<typeof User>;

/** Schema of a listed API key. The key itself is stored only as an HMAC. */
export const ApiKey = z.object({
  /** Public part of the key. */
  id: z.string(),
  org_id: z.string(),
  user_id: z.string().nullable(),
  name: z.string(),
  scopes: z.array(z.enum(SCOPES)),
  auth_level: authLevel,
  limits: KeyLimits.nullable(),
  expires_at: timestamp.nullable(),
  last_used_at: timestamp.nullable(),
  /** Time of revocation. It is in the future during the grace period of a rotated key. */
  revoked_at: timestamp.nullable(),
  created_at: timestamp,
});
export type ApiKey = z.infer<typeof ApiKey>;

const label = z.string().normalize('NFC').trim().min(1).max(100).refine(isPlainName, PLAIN_NAME_RULE);

export const NewOrganization = z.object({
  // A name that looks like an id could shadow another organization's id wherever both are accepted.
  name: label.refine((name) => !name.startsWith('org_'), 'must not start with "org_"'),
  plan: z.enum(PLANS),
});
export type NewOrganization = z.input<typeof NewOrganization>;

export const NewUser = z.object({
  email: z.string().trim().toLowerCase().max(254).pipe(z.email()),
  role: z.enum(ROLES).default('member'),
  /** Auth level; the default depends on the role. */
  authLevel: authLevel.optional(),
  department: label.optional(),
  oidc: z
    .object({ issuer: z.url(), subject: z.string().min(1).max(255) })
    .optional()
    .describe('claims `iss` and `sub` of the user at the OIDC issuer; only the operator may give them'),
});
export type NewUser = z.input<typeof NewUser>;

const scopeList = z
  .array(z.enum(SCOPES))
  .min(1)
  .transform((scopes) => SCOPES.filter((scope) => scopes.includes(scope)));

export const NewApiKey = z.object({
  name: label,
  scopes: scopeList.default(['embed', 'search', 'documents:write']),
  /** Auth level; the default is 5, or the creator's or key user's level if lower. */
  authLevel: authLevel.optional(),
  /** User that the key belongs to. */
  userId: z.string().optional(),
  /** Limits, with the ids of models and buckets. */
  limits: KeyLimits.optional(),
  /** Lifetime from now; unlimited by default. */
  lifetimeMs: z.number().int().positive().optional(),
});
export type NewApiKey = z.input<typeof NewApiKey>;

/** Changes to a key. Omitted fields stay unchanged. */
export const ApiKeyChanges = z.object({
  name: label.optional(),
  scopes: scopeList.optional(),
  authLevel: authLevel.optional(),
  /** All limits of the key; null for none. */
  limits: KeyLimits.nullish(),
  /** Lifetime from now; null for unlimited. */
  lifetimeMs: z.number().int().positive().nullish(),
});
export type ApiKeyChanges = z.input<typeof ApiKeyChanges>;

/** Changes to a user. Omitted fields stay unchanged. */
export const UserChanges = z.object({
  role: z.enum(ROLES).optional(),
  /** Auth level. A new role sets its default. */
  authLevel: authLevel.optional(),
  department: label.nullish(),
  suspended: z.boolean().optional(),
});
export type UserChanges = z.input<typeof UserChanges>;
