import { z } from 'zod';
import { findUser } from '../../access/users.ts';
import { hasLiveWorker } from '../../appliance/live-workers.ts';
import { previewSource } from '../../memory/preview-source.ts';
import { ListFaultsQuery, NewSource, PreviewRequest, SourceChange, SyncRequest } from '../../memory/schema.ts';
import { countPending } from '../../memory/source-store.ts';
import {
  changeSource,
  createSource,
  deleteSource,
  findSource,
  listSourceFaults,
  listSources,
  syncNow,
} from '../../memory/sources.ts';
import { forOrganization } from '../operation.ts';

/** Source by its name or id. */
const Named = z.object({ source: z.string() });

export const add = forOrganization(
  NewSource,
  (request, { appliance, operator }) => createSource(appliance.memory, operator, request),
  ['memory'],
);

export const list = forOrganization(
  z.object({ user: z.string().optional() }),
  async ({ user }, { appliance: { sql }, operator }) =>
    listSources(sql, operator, { user_id: user === undefined ? undefined : (await findUser(sql, operator, user)).id }),
);

export const show = forOrganization(Named, ({ source }, { appliance, operator }) =>
  findSource(appliance.sql, operator, source),
);

/** Show a source, and count its documents that aren't searchable yet. */
export const progress = forOrganization(Named, async ({ source: name }, { appliance: { sql }, operator }) => {
  const source = await findSource(sql, operator, name);
  return { source, pending: await countPending(sql, operator.orgId, source.id) };
});

/** Queue a synchronisation. The output also says if a worker is alive. */
export const sync = forOrganization(
  Named.extend(SyncRequest.unwrap().shape),
  async ({ source, ...request }, { appliance, operator }) => {
    const reply = await syncNow(appliance.memory, operator, source, request);
    return { reply, hasWorker: await hasLiveWorker(appliance, 'sync') };
  },
  ['memory'],
);

export const change = forOrganization(
  Named.extend(SourceChange.shape),
  ({ source, ...request }, { appliance, operator }) => changeSource(appliance.memory, operator, source, request),
  ['memory'],
);

export const faults = forOrganization(
  Named.extend(ListFaultsQuery.shape),
  ({ source, ...query }, { appliance: { sql }, operator }) => listSourceFaults(sql, operator, source, query),
);

export const preview = forOrganization(
  PreviewRequest,
  (request, { appliance, operator, signal }) => previewSource(appliance.memory.previews, operator, request, signal),
  ['memory'],
);

export const remove = forOrganization(
  Named.extend({ keep_documents: z.boolean() }),
  async ({ source, keep_documents: keepDocuments }, { appliance, operator, signal }) => {
    const deleted = await deleteSource(appliance.memory, operator, source, { keepDocuments });
    await appliance.documents.purgeWithText(signal);
    return deleted;
  },
  ['memory', 'documents'],
);
