import { z } from 'zod';
import { DeletedFile, FileUpload, FileView, ListFilesQuery } from '../../src/files/file-schema.ts';
import { createFile, deleteFile, type FileContext, getFile, listFiles, openFile } from '../../src/files/files.ts';
import { listPage } from '../../src/files/list-page.ts';
import { invalidRequest } from '../../src/platform/errors.ts';
import { attachment } from '../content-disposition.ts';
import { defineRoute, type Route } from '../route.ts';

const FileParams = z.object({ file_id: z.string().min(1).max(128) });

/**
 * Create the routes of files, in the shape of OpenAI's API.
 * @param purge starts to remove marked data and continues after the reply
 */
export function fileRoutes(context: FileContext, purge: () => void): Route[] {
  const { sql } = context;
  return [
    defineRoute({
      method: 'POST',
      path: '/v1/files',
      operationId: 'createFile',
      summary: 'Upload a file, for example the input of a batch',
      access: 'embed',
      errors: 'embedding',
      reads: 'upload',
      isMultipartOnly: true,
      capacity: 'none',
      idempotent: true,
      axis: () => 'upload',
      body: FileUpload,
      responses: { 200: { description: 'The file', schema: FileView } },
      refusals: [402],
      async handle({ body, caller, file }) {
        if (file === null) throw invalidRequest('file: send the file as multipart/form-data', 'file');
        return { body: await createFile(context, caller, file, body) };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/files',
      operationId: 'listFiles',
      summary: 'Files of the organization that the caller may see',
      access: 'embed',
      errors: 'embedding',
      query: ListFilesQuery,
      responses: { 200: { description: 'A page of files', schema: listPage(FileView) } },
      handle: async ({ caller, query }) => ({ body: await listFiles(sql, caller, query) }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/files/:file_id',
      operationId: 'getFile',
      summary: 'One file',
      access: 'embed',
      errors: 'embedding',
      params: FileParams,
      responses: { 200: { description: 'The file', schema: FileView } },
      handle: async ({ caller, params }) => ({ body: await getFile(sql, caller, params.file_id) }),
    }),
    defineRoute({
      method: 'DELETE',
      path: '/v1/files/:file_id',
      operationId: 'deleteFile',
      summary: 'Delete a file, and remove it from all vector stores',
      access: 'embed',
      errors: 'embedding',
      params: FileParams,
      responses: { 200: { description: 'Deleted; a batch in progress keeps its input', schema: DeletedFile } },
      refusals: [403],
      async handle({ caller, params }) {
        const deleted = await deleteFile(context, caller, params.file_id);
        purge();
        return { body: deleted };
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/files/:file_id/content',
      operationId: 'getFileContent',
      summary: 'The bytes of a file',
      access: 'embed',
      errors: 'embedding',
      params: FileParams,
      responses: {
        200: { description: 'The bytes, as an attachment', mediaType: '*/*', headers: ['Content-Disposition'] },
      },
      async handle({ caller, params, signal }) {
        const { fileName, sizeBytes, bytes } = await openFile(context, caller, params.file_id, signal);
        return {
          body: bytes,
          type: 'application/octet-stream',
          headers: {
            'Content-Disposition': attachment(fileName),
            'Content-Length': String(sizeBytes),
            'Cache-Control': 'private, no-store',
          },
        };
      },
    }),
  ];
}
