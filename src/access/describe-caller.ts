import { z } from 'zod';
import type { Sql } from '../platform/postgres.ts';
import { type Caller, PLANS, ROLES, SCOPES } from './caller.ts';
import { KeyLimits } from './key-limits.ts';
import { selectApiKeyName } from './key-store.ts';
import { findOrganization } from './organizations.ts';
import { selectUser } from './user-store.ts';

/** Response of `GET /v1/me`: the owner of a key or a token, and its rights. */
export const CallerDescription = z
  .object({
    org: z.object({ id: z.string(), name: z.string(), plan: z.enum(PLANS) }),
    kind: z
      .enum(['key', 'user', 'operator', 'client'])
      .describe('`operator`: a browser session from the command line; `client`: an application with an access token'),
    key: z.object({ id: z.string(), name: z.string() }).optional().describe('present for an API key'),
    grant: z
      .object({
        id: z.string(),
        client: z.string().describe('name of the client'),
        client_id: z.string(),
        given_by: z.string().describe('`user:<id>`, `key:<id>` or `operator:<os user>`'),
        tool_server: z.string().describe('audience of the token'),
      })
      .optional()
      .describe('present for an access token'),
    user: z
      .object({
        id: z.string(),
        email: z.string(),
        role: z.enum(ROLES),
        department: z.string().nullable(),
      })
      .optional()
      .describe('present for a user token, and for a key that belongs to a user'),
    user_id: z.string().nullable(),
    groups: z.array(z.string()).describe('names of the groups of the user or the key'),
    scopes: z.array(z.enum(SCOPES)),
    auth_level: z.int().describe('highest privacy level of documents that the caller can see'),
    limits: KeyLimits.optional().describe('present for a key that has limits in addition to those of the plan'),
  })
  .meta({ id: 'Caller' });
export type CallerDescription = z.output<typeof CallerDescription>;

const KINDS = { api_key: 'key', user: 'user', operator: 'operator', grant: 'client', channel: 'user' } as const;

/** Describe the caller of a request, for the response to it. */
export async function describeCaller(sql: Sql, caller: Caller): Promise<CallerDescription> {
  const { orgId, userId, authLevel, grant } = caller;
  const keyId = caller.kind === 'api_key' ? caller.actor.replace(/^key:/, '') : null;
  const [org, user, keyName] = await Promise.all([
    findOrganization(sql, orgId),
    userId === null ? null : selectUser(sql, orgId, userId),
    keyId === null ? null : selectApiKeyName(sql, orgId, keyId),
  ]);
  return {
    org: { id: org.id, name: org.name, plan: org.plan },
    kind: KINDS[caller.kind],
    ...(keyId === null ? {} : { key: { id: keyId, name: keyName ?? '' } }),
    ...(grant ? { grant: describeGrant(grant) } : {}),
    ...(user ? { user: { id: user.id, email: user.email, role: user.role, department: user.department } } : {}),
    user_id: userId,
    groups: [...(caller.groups ?? [])],
    scopes: SCOPES.filter((scope) => caller.scopes.has(scope)),
    auth_level: authLevel,
    ...(caller.limits ? { limits: caller.limits } : {}),
  };
}

function describeGrant({ id, clientId, clientName, givenBy, resource }: NonNullable<Caller['grant']>) {
  return { id, client: clientName, client_id: clientId, given_by: givenBy, tool_server: resource };
}
