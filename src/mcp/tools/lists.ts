import { z } from 'zod';
import { defineTool, READ_ONLY, type Tool } from '../tool.ts';
import { BucketName } from './choose-bucket.ts';

const Named = z.looseObject({ id: z.string(), name: z.string() });

/** Create the tools that list buckets and collections. */
export function listTools(): Tool[] {
  return [
    defineTool({
      name: 'service_list_buckets',
      title: 'List buckets',
      description: 'List the buckets.',
      input: z.object({}),
      output: z.object({ buckets: z.array(Named) }),
      annotations: READ_ONLY,
      route: 'GET /v1/buckets',
      async call(_args, { api, signal }) {
        const buckets = await api.listBuckets(signal);
        const lines = buckets.map(({ id, name, document_count: count }) =>
          count === undefined ? `${name} (${id})` : `${name} (${id}): ${count} documents`,
        );
        return { structured: { buckets }, text: lines.length === 0 ? 'There is no bucket.' : lines.join('\n') };
      },
    }),
    defineTool({
      name: 'service_list_collections',
      title: 'List collections',
      description: 'List the collections of a bucket.',
      input: z.object({ bucket: BucketName.describe('name or id') }),
      output: z.object({ collections: z.array(Named) }),
      annotations: READ_ONLY,
      route: 'GET /v1/buckets/{bucket}/collections',
      async call({ bucket }, { api, signal }) {
        const collections = await api.listCollections(bucket, signal);
        const lines = collections.map(({ id, name }) => `${name} (${id})`);
        return {
          structured: { collections },
          text: lines.length === 0 ? `The bucket "${bucket}" has no collections.` : lines.join('\n'),
        };
      },
    }),
  ];
}
