import { z } from 'zod';
import { PLANS } from '../../access/caller.ts';
import {
  findOrganization,
  listOrganizations,
  setPlan as setPlanOf,
  suspendOrganization,
  unsuspendOrganization,
} from '../../access/organizations.ts';
import { LIST_ROWS_MAX, NewOrganization } from '../../access/schema.ts';
import { listPage } from '../list-page.ts';
import { forInstallation } from '../operation.ts';

/** Organization by its name or id. */
const Named = z.object({ organization: z.string() });

export const create = forInstallation(NewOrganization, async (request, { appliance, actor }) => {
  const { id, name, plan } = await appliance.access.createOrganization(request, actor);
  return { id, name, plan };
});

export const list = forInstallation(z.object({}), async (_, { appliance }) =>
  listPage(await listOrganizations(appliance.sql), LIST_ROWS_MAX),
);

export const find = forInstallation(Named, ({ organization }, { appliance }) =>
  findOrganization(appliance.sql, organization),
);

export const resume = forInstallation(Named, async ({ organization }, { appliance, actor }) => {
  const { id } = await findOrganization(appliance.sql, organization);
  return unsuspendOrganization(appliance.sql, actor, id);
});

export const suspend = forInstallation(Named, async ({ organization }, { appliance, actor }) => {
  const { id } = await findOrganization(appliance.sql, organization);
  return suspendOrganization(appliance.sql, actor, id);
});

/** Change the plan. The output also contains the previous plan. */
export const setPlan = forInstallation(
  Named.extend({ plan: z.enum(PLANS) }),
  async ({ organization, plan }, { appliance, actor }) => {
    const before = await findOrganization(appliance.sql, organization);
    const now = await setPlanOf(appliance.sql, actor, before.id, plan);
    return { id: now.id, name: now.name, plan: now.plan, before: before.plan };
  },
);
