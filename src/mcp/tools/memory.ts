import { z } from 'zod';
import type { ServiceApi } from '../../client/service-api.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { MARKS_RULE } from '../../platform/mark-untrusted.ts';
import { defineTool, READ_ONLY, type Tool } from '../tool.ts';
import { AnswerArguments, answerSearch, SearchOutput, TOP_K_MAX } from './answer-search.ts';
import { BucketName } from './choose-bucket.ts';

interface MemorySettings {
  /** Buckets to which searches are limited; null for those of the caller's sources. */
  readonly memoryBuckets: readonly string[] | null;
  /** User whose sources to list; null for the user of the credential. */
  readonly userId: string | null;
}

/** Create the tools that search and list connected sources. */
export function memoryTools(settings: MemorySettings): Tool[] {
  return [searchMemory(settings), listSources(settings)];
}

function searchMemory({ memoryBuckets }: MemorySettings): Tool {
  const buckets =
    memoryBuckets === null
      ? 'default: those that your sources feed'
      : `one of ${memoryBuckets.join(', ')}; default: all of them`;
  return defineTool({
    name: 'service_memory_search',
    title: 'Search connected sources',
    description: `Search what connected sources brought in, also by time. ${MARKS_RULE}`,
    input: z.object({
      query: z.string().min(1).max(8000),
      bucket: BucketName.optional().describe(`only this bucket; ${buckets}`),
      sources: z.array(z.string().max(64)).max(100).optional().describe('types, such as folder'),
      tags: z
        .array(z.string().regex(/^[^:]+:.+$/s, 'must be written as "key:value"'))
        .max(100)
        .optional()
        .describe('"key:value", all of them'),
      top_k: z.int().min(1).max(TOP_K_MAX).default(20),
      temporal: z
        .enum(['before', 'after', 'between', 'as_of', 'latest'])
        .optional()
        .describe('time of events; all but "latest" need temporal_start'),
      temporal_start: z.number().optional().describe('seconds since 1970'),
      temporal_end: z.number().optional(),
      ...AnswerArguments,
    }),
    output: SearchOutput,
    annotations: READ_ONLY,
    route: 'POST /v1/memory/search',
    async call({ bucket, max_tokens, exclude_seen, ...request }, context) {
      const { api, signal } = context;
      if (bucket !== undefined && memoryBuckets !== null && !memoryBuckets.includes(bucket)) {
        throw invalidRequest(
          `bucket: memory searches are kept to ${memoryBuckets.join(', ')} here; name one of them, or leave bucket out`,
          'bucket',
        );
      }
      const forced = memoryBuckets === null ? {} : { buckets: memoryBuckets };
      const scope = bucket === undefined ? forced : { bucket };
      const search = (topK: number) => api.searchMemory({ ...request, top_k: topK, ...scope }, signal);
      return answerSearch(search, { top_k: request.top_k, max_tokens, exclude_seen, bucket: bucket ?? '' }, context);
    },
  });
}

function listSources({ userId }: MemorySettings): Tool {
  return defineTool({
    name: 'service_list_memory_sources',
    title: 'List connected sources',
    description: 'List the connected sources.',
    input: z.object({}),
    output: z.object({ sources: z.array(z.looseObject({ id: z.string(), name: z.string() })) }),
    annotations: READ_ONLY,
    route: 'GET /v1/memory/sources',
    async call(_args, { api, signal }) {
      const user = userId ?? (await userOf(api, signal));
      const listed = await api.listMemorySources(user, signal);
      // The API decides what the caller may see. Naming a user can only narrow that.
      const sources = user === null ? listed : listed.filter(({ user_id }) => user_id == null || user_id === user);
      const lines = sources.map(
        ({ name, type, sync_state, indexed_document_count }) =>
          `${name} (${type}): ${sync_state}, ${indexed_document_count} documents`,
      );
      return { structured: { sources }, text: lines.length === 0 ? 'No source is connected.' : lines.join('\n') };
    },
  });
}

/** Find the user of the credential. An administrator without a user sees the sources of all users. */
async function userOf(api: ServiceApi, signal: AbortSignal): Promise<string | null> {
  return (await api.me(signal)).user_id ?? null;
}
