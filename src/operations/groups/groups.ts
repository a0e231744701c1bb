import { z } from 'zod';
import { createGroup, deleteGroup, editGroup, findGroup, listGroups } from '../../access/groups/groups.ts';
import { ROW_LIMITS } from '../../access/row-limits-store.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';

const Named = z.object({ group: z.string() });
const members = z.array(z.string());

export const create = forOrganization(
  z.object({
    name: z.string(),
    display_name: z.string().optional(),
    claim: z.string().optional(),
    members,
  }),
  (group, { appliance, operator }) => createGroup(appliance.sql, operator, group),
);

export const list = forOrganization(z.object({}), async (_, { appliance, operator }) =>
  listPage(await listGroups(appliance.sql, operator, { limit: ROW_LIMITS.groups.rowsMax })),
);

export const show = forOrganization(Named, ({ group }, { appliance, operator }) =>
  findGroup(appliance.sql, operator, group),
);

export const edit = forOrganization(
  Named.extend({
    display_name: z.string().optional(),
    claim: z.string().optional(),
    add: members.optional(),
    remove: members.optional(),
  }),
  ({ group, ...changes }, { appliance, operator }) => editGroup(appliance.sql, operator, group, changes),
);

export const remove = forOrganization(Named, ({ group }, { appliance, operator }) =>
  deleteGroup(appliance.sql, operator, group),
);
