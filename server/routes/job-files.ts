import { z } from 'zod';
import { findJobFile, listJobFiles, VectorStoreFile } from '../../src/documents/job-documents.ts';
import type { Objects } from '../../src/platform/objects/objects.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { attachment } from '../content-disposition.ts';
import { reportQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

const JobParams = z.object({ job: z.string().min(1) });

/** Create the routes for the original file of a job. */
export function jobFileRoutes(sql: Sql, objects: Objects): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/v1/jobs/:job/files',
      operationId: 'listJobFiles',
      summary: 'The file of a job, if it has one',
      access: 'caller',
      params: JobParams,
      responses: {
        200: {
          description: 'None or one',
          schema: z.object({ object: z.literal('list'), data: z.array(VectorStoreFile), has_more: z.boolean() }),
        },
      },
      handle: async ({ caller, params, signal }) => ({
        body: {
          object: 'list',
          data: await listJobFiles(reportQueries(sql, signal), caller, params.job),
          has_more: false,
        },
      }),
    }),
    defineRoute({
      method: 'GET',
      path: '/v1/jobs/:job/download',
      operationId: 'downloadJobFile',
      summary: 'The original file of a job, as it was uploaded',
      access: 'caller',
      params: JobParams,
      responses: {
        200: { description: 'The bytes, as an attachment', mediaType: '*/*', headers: ['Content-Disposition'] },
      },
      async handle({ caller, params, signal }) {
        const file = await findJobFile(reportQueries(sql, signal), objects, caller, params.job);
        return {
          body: file.open(),
          type: file.mediaType,
          headers: {
            'Content-Disposition': attachment(file.fileName),
            'Content-Length': String(file.sizeBytes),
            'Cache-Control': 'private, no-store',
          },
        };
      },
    }),
  ];
}
