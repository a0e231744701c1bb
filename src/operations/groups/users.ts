import { z } from 'zod';
import { ROLES } from '../../access/caller.ts';
import { LIST_ROWS_MAX } from '../../access/schema.ts';
import { createUser, listUsers, setRole as setRoleOf, suspendUser, unsuspendUser } from '../../access/users.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';

/** User by email or id. */
const Named = z.object({ user: z.string() });
const level = z.number().int().optional();

export const create = forOrganization(
  z.object({ email: z.string(), role: z.enum(ROLES), auth_level: level, department: z.string().optional() }),
  ({ auth_level: authLevel, ...user }, { appliance, operator }) =>
    createUser(appliance.sql, operator, { ...user, authLevel }),
);

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

/** Make a one-time link by which the operator signs in to the web console. */
export const consoleLink = forOrganization(z.object({}), async (_, { appliance, operator }) => {
  const { token, expiresAt } = await appliance.access.sessions.createLink(operator);
  return { token: token.reveal(), expires_at: expiresAt.toISOString() };
});
