import { z } from 'zod';
import { findUser } from '../../access/users.ts';
import { NewSource } from '../../memory/schema.ts';
import { createSource, deleteSource, findSource, listSources } from '../../memory/sources.ts';
import { forOrganization } from '../operation.ts';

/** Source by its name or id. */
const Named = z.object({ source: z.string() });

export const add = forOrganization(NewSource, (request, { appliance, operator }) =>
  createSource(appliance.memory, operator, request),
);

export const list = forOrganization(
  z.object({ user: z.string().optional() }),
  async ({ user }, { appliance: { sql }, operator }) =>
    listSources(sql, operator, { user_id: user === undefined ? undefined : (await findUser(sql, operator, user)).id }),
);

export const show = forOrganization(Named, ({ source }, { appliance, operator }) =>
  findSource(appliance.sql, operator, source),
);

export const remove = forOrganization(
  Named.extend({ keep_documents: z.boolean() }),
  async ({ source, keep_documents: keepDocuments }, { appliance, operator, signal }) => {
    const deleted = await deleteSource(appliance.memory, operator, source, { keepDocuments });
    await appliance.documents.purgeWithText(signal);
    return deleted;
  },
);
