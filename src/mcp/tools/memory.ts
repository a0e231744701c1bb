import { z } from 'zod';
import { MemorySource, SearchReply } from '../../client/schema.ts';
import type { ServiceApi } from '../../client/service-api.ts';
import { invalidRequest } from '../../platform/errors.ts';
import { defineTool, READ_ONLY, type Tool } from '../tool.ts';
import { BucketName } from './choose-bucket.ts';
import { MARKS_RULE } from './mark-untrusted.ts';
import { renderResults } from './render-results.ts';

interface MemorySettings {
  /** Buckets that searches are limited to; null for those that the caller's sources feed. */
  readonly memoryBuckets: readonly string[] | null;
  /** User whose sources are listed; null for the user of the credential. */
  readonly userId: string | null;
}

/** Make the tools that search and list connected sources. */
export function memoryTools(settings: MemorySettings): Tool[] {
  return [searchMemory(settings), listSources(settings)];
}

function searchMemory({ memoryBuckets }: MemorySettings): Tool {
  const buckets =
    memoryBuckets === null
      ? 'default: the buckets that your sources feed'
      : `one of: ${memoryBuckets.join(', ')}; default: all of them`;
  return defineTool({
    name: 'service_memory_search',
    title: 'Search connected sources',
    description:
      'Search what connected sources (folders, databases, object stores) brought in, also by the time of events. ' +
      `Results are passages with their source. ${MARKS_RULE}`,
    input: z.object({
      query: z.string().min(1).max(8000).describe('words or a question'),
      bucket: BucketName.optional().describe(`name or id of the only bucket to search; ${buckets}`),
      sources: z.array(z.string().max(64)).max(100).optional().describe('types of sources, such as folder or postgres'),
      tags: z
        .array(z.string().regex(/^[^:]+:.+$/s, 'must be written as "key:value"'))
        .max(100)
        .optional()
        .describe('"key:value" pairs that must all be there'),
      top_k: z.int().min(1).max(100).default(20).describe('results at most'),
      highlights: z
        .boolean()
        .optional()
        .describe('show only the sentences that have words of the query, with these words marked by **'),
      temporal: z
        .enum(['before', 'after', 'between', 'as_of', 'latest'])
        .optional()
        .describe('restriction by the time of events; all but "latest" need temporal_start, "between" both bounds'),
      temporal_start: z.number().optional().describe('seconds since 1970'),
      temporal_end: z.number().optional().describe('seconds since 1970'),
    }),
    output: SearchReply,
    annotations: READ_ONLY,
    route: 'POST /v1/memory/search',
    async call({ bucket, ...request }, { api, signal }) {
      if (bucket !== undefined && memoryBuckets !== null && !memoryBuckets.includes(bucket)) {
        throw invalidRequest(
          `bucket: memory searches are kept to ${memoryBuckets.join(', ')} here; name one of them, or leave bucket out`,
          'bucket',
        );
      }
      const forced = memoryBuckets === null ? {} : { buckets: memoryBuckets };
      const structured = await api.searchMemory(
        { ...request, ...(bucket === undefined ? forced : { bucket }) },
        signal,
      );
      return { structured, text: renderResults(structured) };
    },
  });
}

function listSources({ userId }: MemorySettings): Tool {
  return defineTool({
    name: 'service_list_memory_sources',
    title: 'List connected sources',
    description: 'List the connected sources with their state of synchronisation and their number of documents.',
    input: z.object({}),
    output: z.object({ sources: z.array(MemorySource) }),
    annotations: READ_ONLY,
    route: 'GET /v1/memory/sources',
    async call(_args, { api, signal }) {
      const user = userId ?? (await userOf(api, signal));
      const listed = await api.listMemorySources(user, signal);
      // The API decides what the caller may see. Naming a user shows less of it, never more.
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
