import { z } from 'zod';
import { MARKS_RULE } from '../../platform/mark-untrusted.ts';
import { defineTool, READ_ONLY, type Tool } from '../tool.ts';
import { AnswerArguments, answerSearch, SearchOutput, TOP_K_MAX } from './answer-search.ts';
import { BucketName, chooseBucket } from './choose-bucket.ts';

/** Create the tool `service_search`. */
export function searchTools({ defaultBucket }: { readonly defaultBucket: string }): Tool[] {
  return [
    defineTool({
      name: 'service_search',
      title: 'Search a bucket',
      description:
        'Search the documents of a bucket by meaning and words. Results are passages with an id such as r1: ' +
        `service_read_document reads the text around one. ${MARKS_RULE}`,
      input: z.object({
        query: z.string().min(1).max(8000),
        bucket: BucketName.optional().describe(`name or id; default: "${defaultBucket}"`),
        collection: BucketName.optional().describe('old name of "bucket"').meta({ deprecated: true }),
        top_k: z.int().min(1).max(TOP_K_MAX).default(10),
        filter: z
          .record(z.string(), z.unknown())
          .optional()
          .describe('metadata of documents, such as {"team": "legal"} or {"year": ["2024", "2025"]}'),
        task: z.string().max(64).optional().describe('such as question_answering or code_retrieval'),
        rerank: z.boolean().optional(),
        rerank_top_k: z.int().min(1).max(TOP_K_MAX).optional(),
        ...AnswerArguments,
      }),
      output: SearchOutput,
      annotations: READ_ONLY,
      route: 'POST /v2/buckets/{bucket}/search',
      call({ bucket, collection, max_tokens, exclude_seen, ...request }, context) {
        const { api, signal } = context;
        const chosen = chooseBucket({ bucket, collection }, defaultBucket);
        const search = (topK: number) => api.search(chosen, { ...request, top_k: topK }, signal);
        return answerSearch(search, { top_k: request.top_k, max_tokens, exclude_seen, bucket: chosen }, context);
      },
    }),
  ];
}
