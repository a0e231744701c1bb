import { z } from 'zod';
import { editDocument } from '../../src/metadata/edit-document.ts';
import { type BulkEditContext, editDocuments } from '../../src/metadata/edit-documents.ts';
import {
  BulkEdit,
  BulkEditReply,
  describeReservedKeys,
  EditReply,
  ReservedKeys,
  SingleEdit,
} from '../../src/metadata/schema.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { defineRoute, type Route } from '../route.ts';

const BucketParams = z.object({ bucket: z.string().min(1).describe('id or name') });
const DocumentParams = BucketParams.extend({ document: z.string().min(1) });

/**
 * Create the routes for metadata. Edits check the caller's rights themselves: every caller may preview (contract 5.4,
 * 5.5).
 */
export function metadataRoutes(context: BulkEditContext): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/metadata/reserved-keys',
      operationId: 'getReservedKeys',
      summary: 'Keys that metadata cannot use, keys that conditions can use, and the limits of metadata',
      access: 'caller',
      responses: { 200: { description: 'The keys', schema: ReservedKeys } },
      async handle() {
        return { body: describeReservedKeys() };
      },
    }),
    defineRoute({
      method: 'PATCH',
      path: '/v1/buckets/:bucket/documents/:document/metadata',
      operationId: 'editDocumentMetadata',
      summary: 'Edit the metadata and the access policy of a document',
      access: 'caller',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params: DocumentParams,
      body: SingleEdit,
      responses: { 200: { description: 'The document after the edit', schema: EditReply } },
      refusals: [403, 409],
      handle: async ({ caller, params, body }) => ({
        body: await editDocument(context, caller, params.bucket, params.document, body),
      }),
    }),
    defineRoute({
      method: 'PATCH',
      path: '/v1/buckets/:bucket/documents/metadata/bulk',
      operationId: 'editDocumentsMetadata',
      summary: 'Preview or change the documents that a statement or an exact filter matches',
      access: 'caller',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      params: BucketParams,
      body: BulkEdit,
      responses: {
        200: { description: 'The documents that matched, and the result for each', schema: BulkEditReply },
        202: { description: 'HARDDELETE: a job removes the documents that matched', schema: BulkEditReply },
      },
      refusals: [403, 409],
      async handle({ caller, params, body, signal }) {
        const reply = await editDocuments(context, caller, params.bucket, body, signal);
        return { status: reply.status === 'queued' ? 202 : 200, body: reply };
      },
    }),
  ];
}
