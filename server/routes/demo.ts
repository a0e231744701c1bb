import { z } from 'zod';
import { DEMO_BUCKET, DEMO_QUESTIONS } from '../../src/demo/demo.ts';
import { loadDemo, removeDemo } from '../../src/demo/load-demo.ts';
import type { UploadContext } from '../../src/ingest/upload.ts';
import { editQueries } from '../limited-queries.ts';
import { defineRoute, type Route } from '../route.ts';

const DemoView = z
  .object({
    bucket_id: z.string(),
    bucket: z.literal(DEMO_BUCKET).describe('its name'),
    documents: z.int(),
    questions: z.array(z.string()).describe('questions that the documents answer'),
  })
  .meta({ id: 'Demo' });

/** Create the routes that load and remove the sample documents. @param purge starts to remove marked data */
export function demoRoutes(context: UploadContext, purge: () => void): Route[] {
  const common = { path: '/v1/demo', access: 'buckets:manage' } as const;
  return [
    defineRoute({
      ...common,
      method: 'POST',
      operationId: 'loadDemo',
      summary: 'Load the sample documents into the bucket "demo"; jobs make them searchable',
      axis: () => 'upload',
      responses: { 202: { description: 'Stored', schema: DemoView } },
      refusals: [402, 403, 409],
      async handle({ caller }) {
        const { bucketId, documents } = await loadDemo(context, caller);
        const questions = DEMO_QUESTIONS.map(({ question }) => question);
        return { status: 202, body: { bucket_id: bucketId, bucket: DEMO_BUCKET, documents, questions } };
      },
    }),
    defineRoute({
      ...common,
      method: 'DELETE',
      operationId: 'removeDemo',
      summary: 'Delete the bucket "demo", unless it has other documents; needs the session of an administrator',
      responses: { 200: { description: 'Deleted', schema: z.object({ id: z.string(), deleted: z.literal(true) }) } },
      refusals: [404, 409],
      async handle({ caller }) {
        const id = await removeDemo(editQueries(context.sql), caller);
        purge();
        return { body: { id, deleted: true } };
      },
    }),
  ];
}
