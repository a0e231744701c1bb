import { z } from 'zod';
import { deleteDocument, getDocument, listDocuments, readBucketContents } from '../../src/documents/documents.ts';
import { AccessExplanation, explainAccess } from '../../src/documents/explain-access.ts';
import { BucketContents, DocumentView, FolderFilter, ListDocumentsQuery } from '../../src/documents/schema.ts';
import { UploadReply, UploadRequest } from '../../src/ingest/schema.ts';
import { type UploadContent, type UploadContext, uploadDocument } from '../../src/ingest/upload.ts';
import type { FairGate } from '../../src/platform/fair-gate.ts';
import type { Reads } from '../../src/platform/postgres.ts';
import type { Threads } from '../../src/platform/threads.ts';
import { editQueries, reportLimit, reportQueries, sharedQueries } from '../limited-queries.ts';
import { pageSchema } from '../pages.ts';
import { defineRoute, type Route } from '../route.ts';
import { parseUploadBody } from './parse-upload-body.ts';

const BucketParams = z.object({ bucket: z.string().min(1).describe('id or name') });
const DocumentParams = BucketParams.extend({ document: z.string().min(1) });

/** Fields of an upload. The content is in the file of a multipart body, or here. */
const UploadBody = UploadRequest.transform((fields): { fields: UploadRequest; content: UploadContent | null } => ({
  fields,
  content: null,
}));

/** Create the routes of documents. @param options.purge starts to remove marked data and continues after the reply */
export function documentRoutes(
  context: UploadContext,
  { reads, threads, queryShares, purge }: { reads: Reads; threads: Threads; queryShares: FairGate; purge: () => void },
): Route[] {
  const { sql } = context;
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/buckets/:bucket/documents',
      operationId: 'uploadDocument',
      refusals: [402, 403],
      summary: 'Upload a document: multipart with one part "file", or JSON',
      access: 'documents:write',
      reads: 'upload',
      refusesUnknownFields: true,
      idempotent: true,
      axis: () => 'upload',
      capacity: 'none',
      params: BucketParams,
      body: UploadBody,
      parse: (bytes, signal) => parseUploadBody(threads, bytes, signal),
      responses: { 202: { description: 'Stored; a job will make it searchable', schema: UploadReply } },
      async handle({ caller, params, body, file }) {
        const { fields } = body;
        const content = file
          ? { file: file.path, fileName: file.fileName, contentType: fields.content_type ?? file.contentType }
          : (body.content as UploadContent);
        const shared = { ...context, sql: sharedQueries(sql, queryShares, caller.orgId) };
        return { status: 202, body: await uploadDocument(shared, caller, params.bucket, content, fields) };
      },
    }),
    ...listRoutes(reads),
    defineRoute({
      method: 'GET',
      path: '/v1/buckets/:bucket/documents/:document',
      operationId: 'getDocument',
      summary: 'One document',
      access: 'caller',
      params: DocumentParams,
      responses: { 200: { description: 'The document', schema: DocumentView } },
      handle: async ({ caller, params, signal }) => ({
        body: await reads.current(reportLimit(signal), (sql) =>
          getDocument(sql, caller, params.bucket, params.document),
        ),
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/buckets/:bucket/documents/:document/access',
      operationId: 'explainAccess',
      summary: 'Explain why the caller, or with users:manage another user or key, may or may not read a document',
      access: 'caller',
      params: DocumentParams,
      query: z.object({
        as: z.string().min(1).max(300).optional().describe('id or email of a user, or `key:<id>`; default: the caller'),
      }),
      responses: { 200: { description: 'The explanation', schema: AccessExplanation } },
      handle: async ({ caller, params, query, signal }) => ({
        body: await explainAccess(reportQueries(sql, signal), caller, { ...params, as: query.as }),
      }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/buckets/:bucket/documents/:document',
      operationId: 'deleteDocument',
      summary: 'Delete a document, its chunks and its files',
      access: 'documents:write',
      params: DocumentParams,
      responses: { 200: { description: 'Deleted', schema: z.object({ id: z.string(), deleted: z.literal(true) }) } },
      async handle({ caller, params }) {
        await deleteDocument(editQueries(sql), caller, params.bucket, params.document);
        purge();
        return { body: { id: params.document, deleted: true } };
      },
    }),
  ];
}

function listRoutes(reads: Reads): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/buckets/:bucket/documents',
      operationId: 'listDocuments',
      summary: 'Documents of a bucket, newest first by default, filtered by name, format, folder and state',
      access: 'caller',
      params: BucketParams,
      query: ListDocumentsQuery,
      responses: {
        200: {
          description: 'A page',
          schema: pageSchema(DocumentView),
        },
      },
      async handle({ caller, params, query, signal }) {
        const page = await reads.current(reportLimit(signal), (sql) =>
          listDocuments(sql, caller, params.bucket, query),
        );
        return { body: { object: 'list', ...page } };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/buckets/:bucket/contents',
      operationId: 'getBucketContents',
      summary: 'Folders and formats of the documents of a bucket, with the number of documents in each',
      access: 'caller',
      params: BucketParams,
      query: z.object({ folder: FolderFilter }),
      responses: { 200: { description: 'Folders and formats', schema: BucketContents } },
      handle: async ({ caller, params, query, signal }) => ({
        body: await reads.current(reportLimit(signal), (sql) =>
          readBucketContents(sql, caller, params.bucket, query.folder),
        ),
      }),
    }),
  ];
}
