import { z } from 'zod';
import { hasLiveWorker } from '../../appliance/live-workers.ts';
import { editDocuments } from '../../metadata/edit-documents.ts';
import { openEdits } from '../../metadata/open-edits.ts';
import { readHistory } from '../../metadata/read-history.ts';
import { BulkEdit } from '../../metadata/schema.ts';
import { findFileNames } from '../../metadata/store.ts';
import { listPage } from '../list-page.ts';
import { forOrganization } from '../operation.ts';

const HISTORY_ROWS_MAX = 1000;

/** Run a statement. `hasWorker` is false if it queued work and no worker is alive. */
export const edit = forOrganization(
  BulkEdit.extend({ bucket: z.string() }),
  async ({ bucket, ...request }, { appliance, operator }) => {
    const reply = await editDocuments(openEdits(appliance), operator, bucket, request);
    const isQueued = reply.reindex_queued > 0 || reply.status === 'queued';
    return { reply, hasWorker: !isQueued || (await hasLiveWorker(appliance)) };
  },
);

/** Find the file names of documents, as pairs of id and name. */
export const fileNames = forOrganization(
  z.object({ bucket_id: z.string(), ids: z.array(z.string()) }),
  async ({ bucket_id, ids }, { appliance, operator }) => [
    ...(await findFileNames(appliance.sql, operator, bucket_id, ids)),
  ],
);

export const history = forOrganization(
  z.object({ document: z.string(), limit: z.int().min(1).max(HISTORY_ROWS_MAX) }),
  async ({ document, limit }, { appliance, operator }) =>
    listPage(await readHistory(appliance.sql, operator, document, limit), limit),
);
