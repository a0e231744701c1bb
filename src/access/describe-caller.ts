import { z } from 'zod';
import type { Sql } from '../platform/postgres.ts';
import { type Caller, PLANS, ROLES, SCOPES } from './caller.ts';
import { selectApiKeyName } from './key-store.ts';
import { findOrganization } from './organizations.ts';
import { selectUser } from './user-store.ts';

/** Response of `GET /v1/me`: the owner of a key or a token, and its rights. */
export const CallerDescription = z
  .object({
    org: z.object({ id: z.string(), name: z.string(), plan: z.enum(PLANS) }),
    kind: z.enum(['key', 'user', 'operator']).describe('`operator`: the person at the command line, in a browser'),
    key: z.object({ id: z.string(), name: z.string() }).optional().describe('of an API key'),
    user: z
      .object({
        id: z.string(),
        email: z.string(),
        role: z.enum(ROLES),
        department: z.string().nullable(),
      })
      .optional()
      .describe('of a user token, or of a key that belongs to a user'),
    user_id: z.string().nullable(),
    scopes: z.array(z.enum(SCOPES)),
    auth_level: z.int().describe('highest privacy level of documents that are visible'),
  })
  .meta({ id: 'Caller' });
export type CallerDescription = z.output<typeof CallerDescription>;

/** Describe the caller of a request to itself. */
export async function describeCaller(sql: Sql, caller: Caller): Promise<CallerDescription> {
  const { orgId, userId, authLevel } = caller;
  const keyId = caller.kind === 'api_key' ? caller.actor.replace(/^key:/, '') : null;
  const [org, user, keyName] = await Promise.all([
    findOrganization(sql, orgId),
    userId === null ? null : selectUser(sql, orgId, userId),
    keyId === null ? null : selectApiKeyName(sql, orgId, keyId),
  ]);
  return {
    org: { id: org.id, name: org.name, plan: org.plan },
    kind: keyId !== null ? 'key' : caller.kind === 'operator' ? 'operator' : 'user',
    ...(keyId === null ? {} : { key: { id: keyId, name: keyName ?? '' } }),
    ...(user ? { user: { id: user.id, email: user.email, role: user.role, department: user.department } } : {}),
    user_id: userId,
    scopes: SCOPES.filter((scope) => caller.scopes.has(scope)),
    auth_level: authLevel,
  };
}
