import { z } from 'zod';
import { SearchReply } from '../../client/schema.ts';
import { defineTool, READ_ONLY, type Tool } from '../tool.ts';
import { BucketName, chooseBucket } from './choose-bucket.ts';
import { MARKS_RULE } from './mark-untrusted.ts';
import { renderResults } from './render-results.ts';

const TOP_K_MAX = 100;

/** Make the tool `service_search`. */
export function searchTools({ defaultBucket }: { readonly defaultBucket: string }): Tool[] {
  return [
    defineTool({
      name: 'service_search',
      title: 'Search a bucket',
      description:
        'Search the documents of a bucket by meaning and by words. Results are passages with their source. ' +
        MARKS_RULE,
      input: z.object({
        query: z.string().min(1).max(8000).describe('words or a question'),
        bucket: BucketName.optional().describe(`name or id of the bucket; default: "${defaultBucket}"`),
        collection: BucketName.optional().describe('old name of the argument "bucket"').meta({ deprecated: true }),
        top_k: z.int().min(1).max(TOP_K_MAX).default(10).describe('results at most'),
        filter: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('metadata that documents must have, such as {"team": "legal"} or {"year": ["2024", "2025"]}'),
        task: z
          .string()
          .max(64)
          .optional()
          .describe('use of the results, such as question_answering, retrieval_query or code_retrieval'),
        highlights: z
          .boolean()
          .optional()
          .describe('show only the sentences that have words of the query, with these words marked by **'),
        rerank: z.boolean().optional().describe('order the results by the reranker of the service, if it has one'),
        rerank_top_k: z.int().min(1).max(TOP_K_MAX).optional().describe('results that the reranker orders'),
      }),
      output: SearchReply,
      annotations: READ_ONLY,
      route: 'POST /v2/buckets/{bucket}/search',
      async call({ bucket, collection, ...request }, { api, signal }) {
        const structured = await api.search(chooseBucket({ bucket, collection }, defaultBucket), request, signal);
        return { structured, text: renderResults(structured) };
      },
    }),
  ];
}
