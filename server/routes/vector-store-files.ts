import { z } from 'zod';
import { listPage } from '../../src/files/list-page.ts';
import type { FairGate } from '../../src/platform/fair-gate.ts';
import type { VectorStoreContext } from '../../src/vector-stores/context.ts';
import {
  cancelFileBatch,
  createFileBatch,
  getFileBatch,
  listBatchFiles,
} from '../../src/vector-stores/file-batches.ts';
import {
  CreateFileBatch,
  DeletedStoreFile,
  EditStoreFile,
  FileBatchView,
  FileContentPage,
  FileContentQuery,
  StoreFileRequest,
  StoreFilesQuery,
  StoreFileView,
} from '../../src/vector-stores/schema.ts';
import {
  addStoreFile,
  editStoreFile,
  getStoreFile,
  listStoreFiles,
  readStoreFile,
  removeStoreFile,
} from '../../src/vector-stores/store-files.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { editQueries, reportQueries, sharedQueries } from '../limited-queries.ts';
import { defineRoute, type Route, type RouteReply } from '../route.ts';

const StoreParams = z.object({ bucket: z.string().min(1).describe('id of the vector store, or name of the bucket') });
const FileParams = StoreParams.extend({
  document: z.string().min(1).max(128).describe('id of the file, or of its document'),
});
const BatchParams = StoreParams.extend({ file_batch: z.string().min(1).max(128) });

const FILES = '/v1/vector_stores/:bucket/files';
const BATCHES = '/v1/vector_stores/:bucket/file_batches';

/** Polling interval for OpenAI's libraries, in milliseconds. */
const POLL_AFTER_MS = 500;
/** Maximum values in a batch: for each of 2,000 files, an id, 16 attributes and a chunking strategy. */
const BATCH_VALUES_MAX = 60_000;

/** Reply with a file or a batch, and tell OpenAI's libraries when to poll again. */
function polled(body: { readonly status: string }): RouteReply {
  if (body.status !== 'in_progress') return { body };
  return { body, headers: { 'openai-poll-after-ms': String(POLL_AFTER_MS) } };
}

/**
 * Create the routes of the files of vector stores, in the shape of OpenAI's API.
 * @param options.purge starts to remove marked data and continues after the reply
 */
export function vectorStoreFileRoutes(
  context: VectorStoreContext,
  { queryShares, purge }: { queryShares: FairGate; purge: () => void },
): Route[] {
  return [
    ...listRoutes(context, purge),
    ...fileRoutes(context, { queryShares, purge }),
    ...batchRoutes(context, purge),
  ];
}

function listRoutes(context: VectorStoreContext, purge: () => void): Route[] {
  const { sql } = context;
  return [
    defineRoute({
      method: 'POST',
      path: FILES,
      operationId: 'createVectorStoreFile',
      summary: 'Add a file to a vector store',
      access: 'documents:write',
      errors: 'both',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      idempotent: true,
      axis: () => 'upload',
      params: StoreParams,
      body: StoreFileRequest,
      responses: { 200: { description: 'The file, which a job will make searchable', schema: StoreFileView } },
      refusals: [402, 403, 404, 409],
      async handle({ caller, params, body }) {
        const added = await addStoreFile({ ...context, sql: editQueries(sql) }, caller, params.bucket, body);
        purge();
        return { body: added };
      },
    }),
    defineRoute({
      method: 'GET',
      path: FILES,
      operationId: 'listVectorStoreFiles',
      summary: 'Files of a vector store: all documents of the bucket',
      access: 'caller',
      errors: 'both',
      params: StoreParams,
      query: StoreFilesQuery,
      responses: { 200: { description: 'A page, by creation', schema: listPage(StoreFileView) } },
      handle: async ({ caller, params, query, signal }) => ({
        body: await listStoreFiles(reportQueries(sql, signal), caller, params.bucket, query),
      }),
    }),
  ];
}

function fileRoutes(
  context: VectorStoreContext,
  { queryShares, purge }: { queryShares: FairGate; purge: () => void },
): Route[] {
  const { sql } = context;
  return [
    defineRoute({
      method: 'GET',
      path: `${FILES}/:document`,
      operationId: 'getVectorStoreFile',
      summary: 'One file of a vector store',
      access: 'caller',
      errors: 'both',
      params: FileParams,
      responses: { 200: { description: 'The file', schema: StoreFileView, headers: ['openai-poll-after-ms'] } },
      handle: async ({ caller, params, signal }) =>
        polled(await getStoreFile(reportQueries(sql, signal), caller, params.bucket, params.document)),
    }),
    defineRoute({
      method: 'POST',
      path: `${FILES}/:document`,
      operationId: 'editVectorStoreFile',
      summary: 'Replace the attributes of a file of a vector store',
      access: 'buckets:manage',
      errors: 'both',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params: FileParams,
      body: EditStoreFile,
      responses: { 200: { description: 'The file', schema: StoreFileView } },
      refusals: [403],
      handle: async ({ caller, params, body }) => ({
        body: await editStoreFile(
          { ...context, sql: editQueries(sql) },
          caller,
          params.bucket,
          params.document,
          body.attributes ?? {},
        ),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: `${FILES}/:document`,
      operationId: 'deleteVectorStoreFile',
      summary: 'Remove a file from a vector store; the file of /v1/files stays',
      access: 'documents:write',
      errors: 'both',
      params: FileParams,
      responses: { 200: { description: 'Removed', schema: DeletedStoreFile } },
      async handle({ caller, params }) {
        const removed = await removeStoreFile(editQueries(sql), caller, params.bucket, params.document);
        purge();
        return { body: removed };
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${FILES}/:document/content`,
      operationId: 'getVectorStoreFileContent',
      summary: 'Extracted text of a file of a vector store',
      access: 'caller',
      errors: 'both',
      capacity: 'none',
      params: FileParams,
      query: FileContentQuery,
      responses: { 200: { description: 'A page of the text', schema: FileContentPage } },
      refusals: [409],
      async handle({ caller, params, query, signal }) {
        const shared = { ...context, sql: sharedQueries(sql, queryShares, caller.orgId, signal) };
        const file = { ref: params.bucket, id: params.document, offset: query.page };
        return { body: await readStoreFile(shared, caller, file, signal) };
      },
    }),
  ];
}

function batchRoutes(context: VectorStoreContext, purge: () => void): Route[] {
  const { sql } = context;
  return [
    defineRoute({
      method: 'POST',
      path: BATCHES,
      operationId: 'createVectorStoreFileBatch',
      summary: 'Add several files to a vector store',
      access: 'documents:write',
      errors: 'both',
      bodyValuesMax: BATCH_VALUES_MAX,
      idempotent: true,
      axis: () => 'upload',
      params: StoreParams,
      body: CreateFileBatch,
      responses: { 200: { description: 'The batch', schema: FileBatchView } },
      refusals: [402, 403, 404, 409],
      async handle({ caller, params, body }) {
        const batch = await createFileBatch({ ...context, sql: editQueries(sql) }, caller, params.bucket, body);
        purge();
        return { body: batch };
      },
    }),
    defineRoute({
      method: 'GET',
      path: `${BATCHES}/:file_batch`,
      operationId: 'getVectorStoreFileBatch',
      summary: 'State of a batch of files',
      access: 'caller',
      errors: 'both',
      params: BatchParams,
      responses: { 200: { description: 'The batch', schema: FileBatchView, headers: ['openai-poll-after-ms'] } },
      handle: async ({ caller, params, signal }) =>
        polled(await getFileBatch(reportQueries(sql, signal), caller, params.bucket, params.file_batch)),
    }),
    defineRoute({
      method: 'POST',
      path: `${BATCHES}/:file_batch/cancel`,
      operationId: 'cancelVectorStoreFileBatch',
      summary: 'Cancel the files of a batch that are not finished',
      access: 'documents:write',
      errors: 'both',
      params: BatchParams,
      responses: { 200: { description: 'The batch', schema: FileBatchView } },
      handle: async ({ caller, params }) => ({
        body: await cancelFileBatch({ ...context, sql: editQueries(sql) }, caller, params.bucket, params.file_batch),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: `${BATCHES}/:file_batch/files`,
      operationId: 'listVectorStoreFileBatchFiles',
      summary: 'Files of a batch',
      access: 'caller',
      errors: 'both',
      params: BatchParams,
      query: StoreFilesQuery,
      responses: { 200: { description: 'A page, by creation', schema: listPage(StoreFileView) } },
      handle: async ({ caller, params, query, signal }) => {
        const batch = { ref: params.bucket, id: params.file_batch };
        return { body: await listBatchFiles(reportQueries(sql, signal), caller, batch, query) };
      },
    }),
  ];
}
