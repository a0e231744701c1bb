import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { BucketRef } from '../documents/schema.ts';
import { invalidRequest } from '../platform/errors.ts';
import { mostTelling, PARSE_OPTIONS, placeOf } from '../platform/zod-faults.ts';
import { Filter } from './filter/filter.ts';
import { linkResults } from './results/link-results.ts';
import { SearchRequest, TOP_K_MAX } from './schema.ts';
import { type SearchContext, searchBucket } from './search.ts';

/** Our filter type for each comparison operator of Dify's external knowledge API. */
const COMPARISONS = {
  is: 'eq',
  '=': 'eq',
  'is not': 'ne',
  '≠': 'ne',
  in: 'in',
  'not in': 'nin',
  contains: 'contains',
  'not contains': 'ncontains',
  'start with': 'starts_with',
  'end with': 'ends_with',
  '>': 'gt',
  '≥': 'gte',
  '<': 'lt',
  '≤': 'lte',
  after: 'gt',
  before: 'lt',
  empty: 'missing',
  'not empty': 'exists',
} as const;
const OPERATORS = Object.keys(COMPARISONS) as (keyof typeof COMPARISONS)[];

const value = z.union([z.string(), z.number(), z.array(z.string())]);

const name = z.string().min(1).max(64);
/** Condition on metadata. Older versions of Dify send `name` as a list. */
const MetadataCondition = z.object({
  name: z.union([name, z.array(name).min(1)]),
  comparison_operator: z.enum(OPERATORS),
  value: value.nullish(),
});

/** Request of Dify's external knowledge API (docs.dify.ai, external-knowledge-api, June 2026). */
export const KnowledgeRequest = z.object({
  knowledge_id: BucketRef,
  query: SearchRequest.shape.query,
  retrieval_setting: z
    .object({
      top_k: z.int().min(1).max(TOP_K_MAX).default(10),
      score_threshold: z.number().min(0).max(1).default(0).describe('minimum relevance of a record'),
    })
    .prefault({}),
  metadata_condition: z
    .object({
      logical_operator: z.enum(['and', 'or']).default('and'),
      conditions: z.array(MetadataCondition).max(50),
    })
    .nullish(),
});
export type KnowledgeRequest = z.output<typeof KnowledgeRequest>;

/** Response of Dify's external knowledge API. */
export const KnowledgeReply = z
  .object({
    records: z.array(
      z.object({
        content: z.string(),
        score: z.number().describe('relevance, 0 to 1; if it is unknown, the relevance of the search'),
        title: z.string().describe('file name'),
        metadata: z.record(z.string(), z.union([z.string(), z.number()])),
      }),
    ),
  })
  .meta({ id: 'KnowledgeRecords' });
export type KnowledgeReply = z.output<typeof KnowledgeReply>;

/**
 * Search a bucket with request and response in the format of Dify's external knowledge API.
 *
 * @throws AppError as `searchBucket`, and 400 for a condition that no document can match
 */
export async function searchKnowledge(
  context: SearchContext,
  caller: Caller,
  request: KnowledgeRequest,
  { origin, signal }: { readonly origin: string | null; readonly signal?: AbortSignal },
): Promise<KnowledgeReply> {
  const { top_k, score_threshold: least } = request.retrieval_setting;
  const search = { ...SearchRequest.parse({ query: request.query, top_k }), filter: filterOf(request) };
  const found = await searchBucket(context, caller, request.knowledge_id, search, signal);
  const { results } = linkResults(found, context.links, { caller, origin });
  const records = results.map((result) => ({
    content: result.text,
    score: result.relevance_score ?? result.score,
    title: result.citation.file_name,
    metadata: metadataOf(result),
  }));
  return { records: records.filter(({ score }) => score >= least) };
}

type Result = Awaited<ReturnType<typeof searchBucket>>['results'][number];

function metadataOf({ document_id, chunk_index, citation, metadata }: Result) {
  const { locator, source_path, url } = citation;
  return {
    ...metadata,
    document_id,
    chunk_index,
    ...(source_path === null ? {} : { source_path }),
    ...(url === null ? {} : { url }),
    ...(locator.page ? { page: locator.page } : {}),
    ...(locator.heading_path?.length ? { heading: locator.heading_path.join(' > ') } : {}),
  };
}

/** Convert metadata conditions to a filter. @throws AppError `invalid_request` (400) */
function filterOf({ metadata_condition: given }: KnowledgeRequest): Filter | undefined {
  if (!given || given.conditions.length === 0) return undefined;
  const filters = given.conditions.map((condition, at) => {
    const filter = Filter.safeParse(conditionOf(condition), PARSE_OPTIONS);
    if (filter.success) return filter.data;
    const place = `metadata_condition.conditions[${at}]`;
    const { path, message } = mostTelling(filter.error.issues[0] as z.core.$ZodIssue);
    throw invalidRequest(`${place}${path.length === 0 ? '' : `.${placeOf(path)}`} ${message}`, place);
  });
  return { type: given.logical_operator, filters };
}

function conditionOf({ name, comparison_operator: operator, value: given }: z.output<typeof MetadataCondition>) {
  const keys = [name].flat();
  const type = COMPARISONS[operator];
  const value = type === 'in' || type === 'nin' ? [given ?? []].flat() : [given ?? ''].flat()[0];
  const ofKey = (key: string) => (type === 'exists' || type === 'missing' ? { type, key } : { type, key, value });
  return keys.length === 1 ? ofKey(keys[0] as string) : { type: 'or', filters: keys.map(ofKey) };
}
