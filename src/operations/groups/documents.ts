import { z } from 'zod';
import { hasLiveWorker } from '../../appliance/live-workers.ts';
import { listPathDocuments } from '../../documents/content-store.ts';
import { deleteDocument, listDocuments } from '../../documents/documents.ts';
import { explainAccess } from '../../documents/explain-access.ts';
import { findDocumentFile } from '../../documents/job-documents.ts';
import { ListDocumentsQuery } from '../../documents/schema.ts';
import { findBucket, findCollection } from '../../documents/store.ts';
import { readChunkWindow, readDocumentText } from '../../ingest/document-text.ts';
import { UploadRequest } from '../../ingest/schema.ts';
import { uploadDocument } from '../../ingest/upload.ts';
import { AppError, invalidRequest } from '../../platform/errors.ts';
import { boundUpload } from '../bound-upload.ts';
import { describeFile } from '../describe-file.ts';
import { listPage } from '../list-page.ts';
import { forOrganization, WithBody } from '../operation.ts';
import { reprocessDocuments } from '../reprocess-documents.ts';
import { SELECTED_MAX, Selection, selectDocuments } from '../select-documents.ts';

/** Limits of one reply. */
const TEXT_CHARS_MAX = 200_000;
const CHUNKS_MAX = 1_000;
const PATHS_MAX = 5_000;

export const list = forOrganization(
  ListDocumentsQuery.extend({ bucket: z.string() }),
  async ({ bucket, ...query }, { appliance, operator }) => ({
    object: 'list' as const,
    ...(await listDocuments(appliance.sql, operator, bucket, query)),
  }),
);

export const select = forOrganization(Selection, (selection, { appliance, operator }) =>
  selectDocuments(appliance.sql, operator, selection),
);

/** Explain why a user or a key may or may not read a document. */
export const access = forOrganization(
  z.object({ bucket: z.string(), document: z.string(), as: z.string() }),
  (named, { appliance, operator }) => explainAccess(appliance.sql, operator, named),
);

export const text = forOrganization(
  z.object({ bucket: z.string(), document: z.string(), offset: z.int().min(0) }),
  ({ offset, ...document }, { appliance, operator, signal }) =>
    readDocumentText(appliance, operator, document, { offset, limit: TEXT_CHARS_MAX }, signal),
);

export const chunks = forOrganization(
  z.object({ document: z.string(), first: z.int().min(0), count: z.int().min(1).max(CHUNKS_MAX) }),
  async ({ document, ...window }, { appliance, operator, signal }) => {
    const found = await readChunkWindow(appliance, operator, document, window, signal);
    return {
      chunks: found.chunks.map(({ index, text, token_count, locator }) => ({ index, text, token_count, locator })),
      isMoreAfter: found.isMoreAfter,
    };
  },
);

/** Find the original file of a document, with its bytes. */
export const file = forOrganization(
  z.object({ document: z.string() }),
  async ({ document }, { appliance, operator }) => {
    const found = await findDocumentFile(appliance.sql, appliance.objects, operator, document);
    return new WithBody(describeFile(found), found.open());
  },
);

/** Find the bucket and collection for uploads. The output also says if a worker is alive. */
export const target = forOrganization(
  z.object({ bucket: z.string(), collection: z.string().nullable() }),
  async ({ bucket, collection }, { appliance, operator }) => {
    const { id } = await findBucket(appliance.sql, operator, bucket);
    if (collection !== null) await findCollection(appliance.sql, operator.orgId, id, collection);
    return { bucket_id: id, hasWorker: await hasLiveWorker(appliance) };
  },
);

/** Upload a document, whose content comes with the input. `size_bytes` is its size, if known. */
export const upload = forOrganization(
  z.object({
    bucket: z.string(),
    file_name: z.string(),
    size_bytes: z.int().nullable(),
    request: UploadRequest,
  }),
  ({ bucket, file_name: fileName, size_bytes: sizeBytes, request }, { appliance, operator, body }) => {
    if (body === null) throw invalidRequest('the content is missing', 'content');
    const openStream = boundUpload(body, sizeBytes, appliance.config.limits.uploadBytes);
    const content = { fileName, contentType: null, openStream };
    return uploadDocument(appliance.ingest.uploads, operator, bucket, content, request);
  },
  ['ingest'],
);

/** Find the bucket to synchronise a folder with. The folder must not be in the data directory of the service. */
export const syncTarget = forOrganization(
  z.object({ bucket: z.string() }),
  async ({ bucket }, { appliance: { sql, config }, operator }) => {
    const { id } = await findBucket(sql, operator, bucket);
    return { bucket_id: id, data_dir: config.dataDir };
  },
);

/** List the newest uploaded document of each path after `after`, sorted by path. The last page is empty. */
export const paths = forOrganization(
  z.object({ bucket_id: z.string(), prefix: z.string(), after: z.string() }),
  ({ bucket_id: bucketId, prefix, after }, { appliance: { sql }, operator }) =>
    listPathDocuments(sql, operator, bucketId, { prefix, afterPath: after, limit: PATHS_MAX }),
);

/** Delete documents with their stored data. `ignores_missing` skips documents that are already deleted. */
export const remove = forOrganization(
  z.object({
    documents: z.array(z.object({ bucket_id: z.string(), id: z.string() })).max(SELECTED_MAX),
    ignores_missing: z.boolean().optional(),
  }),
  async ({ documents, ignores_missing: ignoresMissing }, { appliance, operator, signal }) => {
    for (const { id, bucket_id: bucketId } of documents) {
      signal.throwIfAborted();
      await deleteDocument(appliance.sql, operator, bucketId, id).catch((error: unknown) => {
        const isMissing = error instanceof AppError && error.code === 'document_not_found';
        if (!(ignoresMissing && isMissing)) throw error;
      });
    }
    await appliance.documents.purgeWithText(signal);
    return listPage(documents.map(({ id }) => ({ id, deleted: true })));
  },
  ['documents'],
);

/** Repeat the newest job of each document. `hasWorker` is true if a worker is alive. */
export const reprocess = forOrganization(
  Selection,
  async (selection, { appliance, operator }) => {
    const documents = await selectDocuments(appliance.sql, operator, selection);
    const outcomes = await reprocessDocuments(appliance.jobs.operations, operator, documents);
    return { outcomes, hasWorker: await hasLiveWorker(appliance) };
  },
  ['jobs'],
);
