import { z } from 'zod';
import { ROLES } from '../../access/caller.ts';
import { LIST_ROWS_MAX } from '../../access/schema.ts';
import { createUser, listUsers, setRole as setRoleOf, suspendUser, unsuspendUser } from '../../access/users.ts';
import type { Config } from '../../platform/config.ts';
import { invalidRequest } from '../../platform/errors.ts';
import type { Secret } from '../../platform/secret.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';

/** User by email or id. */
const Named = z.object({ user: z.string() });
const level = z.number().int().optional();

export const create = forOrganization(
  z.object({
    email: z.string(),
    role: z.enum(ROLES),
    auth_level: level,
    department: z.string().optional(),
    oidc_subject: z.string().optional(),
  }),
  ({ auth_level: authLevel, oidc_subject: subject, ...user }, { appliance, operator }) => {
    const oidc = subject === undefined ? {} : { oidc: { issuer: issuerOf(appliance.config), subject } };
    return createUser(appliance.sql, operator, { ...user, authLevel, ...oidc });
  },
);

/** @throws AppError `invalid_request` (400) if the settings have no identity provider */
function issuerOf({ oidc }: Pick<Config, 'oidc'>): string {
  if (oidc !== null) return oidc.issuer;
  throw invalidRequest('oidc_subject: no identity provider is configured; set oidc in service.yaml', 'oidc_subject');
}

export const list = forOrganization(z.object({}), async (_, { appliance, operator }) =>
  listPage(await listUsers(appliance.sql, operator), LIST_ROWS_MAX),
);

export const resume = forOrganization(Named, ({ user }, { appliance, operator }) =>
  unsuspendUser(appliance.sql, operator, user),
);

export const suspend = forOrganization(Named, ({ user }, { appliance, operator }) =>
  suspendUser(appliance.sql, operator, user),
);

export const setRole = forOrganization(
  Named.extend({ role: z.enum(ROLES), auth_level: level }),
  ({ user, role, auth_level: authLevel }, { appliance, operator }) =>
    setRoleOf(appliance.sql, operator, user, role, authLevel),
);

/** Create a one-time link for the operator to sign in to the web console. */
export const consoleLink = forOrganization(z.object({}), async (_, { appliance, operator }) => {
  return toLink(await appliance.access.sessions.createLink(operator));
});

/** Create a link through which a person becomes this user, with a password or at the identity provider. */
export const invite = forOrganization(Named, async ({ user }, { appliance, operator }) =>
  toLink(await appliance.access.invitations.create(operator, user)),
);

/** Create a password reset link. */
export const resetPassword = forOrganization(Named, async ({ user }, { appliance, operator }) =>
  toLink(await appliance.access.accounts.createReset(operator, user)),
);

function toLink({ token, expiresAt }: { token: Secret; expiresAt: Date }): { token: string; expires_at: string } {
  return { token: token.reveal(), expires_at: expiresAt.toISOString() };
}
