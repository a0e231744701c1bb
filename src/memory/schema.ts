import { z } from 'zod';
import { AccessInput, AccessView } from '../documents/access-list.ts';
import { BucketRef } from '../documents/schema.ts';
import { METADATA_LIMITS, userKeyFault } from '../documents/user-metadata.ts';
import { textInteger } from '../platform/zod-integers.ts';
import { Relevance, RelevanceScore } from '../search/relevance/schema.ts';
import { CorrectedWord } from '../search/results/describe-corrections.ts';
import { BUCKETS_MAX, SearchRequest, SearchResponse, SearchResult } from '../search/schema.ts';
import { CONFIG_BY_TYPE, lineOfText } from './readers/configs.ts';
import { scheduleFault } from './schedule.ts';

const timestamp = z.iso.datetime();

export type SourceType = keyof typeof CONFIG_BY_TYPE;
export const SOURCE_TYPES = Object.keys(CONFIG_BY_TYPE) as [SourceType, ...SourceType[]];

/** Tag `key:value`, which becomes user metadata of a source's documents. */
export const Tag = z
  .string()
  .max(METADATA_LIMITS.keyLength + 1 + METADATA_LIMITS.valueLength)
  .superRefine((tag, context) => {
    const at = tag.indexOf(':');
    const fault = (message: string) => context.addIssue({ code: 'custom', message });
    if (at < 1 || at === tag.length - 1) return fault('must be key:value');
    const keyFault = userKeyFault(tag.slice(0, at));
    if (keyFault !== null) fault(keyFault);
    const value = tag.slice(at + 1);
    if (value.length > METADATA_LIMITS.valueLength)
      fault(`value is longer than ${METADATA_LIMITS.valueLength} characters`);
    if (/\p{Cc}/u.test(value) || !value.isWellFormed()) fault('must be well-formed text without control characters');
  });

export function metadataOfTags(tags: readonly string[]): Record<string, string> {
  return Object.fromEntries(tags.map((tag) => [tag.slice(0, tag.indexOf(':')), tag.slice(tag.indexOf(':') + 1)]));
}

export const NewSource = z.object({
  name: lineOfText
    .trim()
    .min(1)
    .max(100)
    .refine((name) => !name.startsWith('src_'), 'must not start with "src_"'),
  connection: z.string().min(1).max(64).describe('name of a connection in the setting sources'),
  bucket: BucketRef,
  config: z.record(z.string(), z.unknown()).default({}).describe('depends on the type of the connection'),
  tags: z
    .array(Tag)
    .max(16)
    .refine((tags) => new Set(tags.map((tag) => tag.split(':')[0])).size === tags.length, 'must name each key once')
    .refine((tags) => !tags.some((tag) => tag.startsWith('scope:')), 'cannot set the scope of documents')
    .default([]),
  schedule: z
    .string()
    .max(100)
    .superRefine((expression, context) => {
      const fault = scheduleFault(expression);
      if (fault !== null) context.addIssue({ code: 'custom', message: fault });
    })
    .nullish()
    .describe('cron expression of five fields, UTC'),
  user_id: z.string().min(1).max(128).nullish().describe('owner; null: the organization'),
  versions: z
    .enum(['replace', 'keep'])
    .default('replace')
    .describe('keep: earlier versions of a changed entry stay searchable, for as_of'),
  privacy_level: z.int().min(1).max(10).default(1).describe('privacy level of its documents'),
  access: AccessInput.optional().describe('users and groups that may read its documents; default: those of the bucket'),
});
export type NewSource = z.output<typeof NewSource>;

/** Counts of a synchronisation. The first four are changes. */
export const SyncCounts = z.object({
  added: z.int(),
  changed: z.int(),
  removed: z.int(),
  renamed: z.int(),
  unchanged: z.int(),
  failed: z.int().describe('entries that could not be read; their documents are kept'),
});
export type SyncCounts = z.output<typeof SyncCounts>;

export const NO_COUNTS: SyncCounts = { added: 0, changed: 0, removed: 0, renamed: 0, unchanged: 0, failed: 0 };

export const SourceView = z
  .object({
    id: z.string(),
    name: z.string(),
    type: z.enum(SOURCE_TYPES),
    connection: z.string(),
    bucket_id: z.string(),
    user_id: z.string().nullable(),
    config: z.record(z.string(), z.unknown()),
    tags: z.array(z.string()),
    schedule: z.string().nullable(),
    next_sync_at: timestamp.nullable(),
    versions: z.enum(['replace', 'keep']),
    privacy_level: z.int(),
    access: AccessView.nullable(),
    sync_state: z.enum(['idle', 'syncing', 'error']),
    sync_job_id: z.string().nullable(),
    last_synced_at: timestamp.nullable(),
    indexed_document_count: z.int(),
    counts: SyncCounts.describe('counts of the last synchronisation'),
    error_category: z.string().nullable().describe('category of the failure, as that of a job'),
    error_message: z.string().nullable(),
    paused_at: timestamp
      .nullable()
      .describe('time of the pause; until it is resumed, nothing starts a synchronisation'),
    created_at: timestamp,
  })
  .meta({ id: 'MemorySource' });
export type SourceView = z.output<typeof SourceView>;

export const ListSourcesQuery = z.object({
  user_id: z.string().min(1).optional().describe('only sources of this user and of the organization'),
  limit: textInteger(z.int().min(1).max(1000).default(1000)),
  cursor: lineOfText
    .max(128)
    .optional()
    .describe('name of the last source of the previous page')
    .transform((cursor) => cursor || undefined),
});
export type ListSourcesQuery = z.output<typeof ListSourcesQuery>;

/** Body of `PATCH /v1/memory/sources/{source}`. */
export const SourceChange = z.object({
  paused: z.boolean().optional().describe('true: stop, and start no synchronisation; false: resume'),
  schedule: NewSource.shape.schedule,
  access: NewSource.shape.access.describe('applies to all documents of the source; null: those of the bucket'),
  config: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('the next synchronisation removes documents of entries that it no longer covers'),
});
export type SourceChange = z.output<typeof SourceChange>;

/** Maximum length of an entry key: `KEY_BYTES_MAX`, plus the `…` after a shortened key. */
const KEY_CHARS_MAX = 1_025;

/** Body of `POST /v1/memory/sources/{source}/sync`. */
export const SyncRequest = z
  .object({
    allow_empty: z
      .boolean()
      .default(false)
      .describe('remove all documents if the source has no entries; otherwise, such a source counts as not mounted'),
    entries: z
      .array(z.string().min(1).max(KEY_CHARS_MAX))
      .min(1)
      .max(1000)
      .optional()
      .describe(
        'keys of the entries to read instead of all, such as those that failed; a folder includes everything in it',
      ),
  })
  .prefault({});
export type SyncRequest = z.output<typeof SyncRequest>;

/** Entry or folder that the last synchronisation couldn't read. Its documents stay. */
export const SourceFaultView = z
  .object({
    key: z.string().describe('path, key or address of the entry in the source'),
    is_folder: z.boolean().describe('true: nothing below it could be listed'),
    fault: z.string(),
    since: timestamp.describe('end of the first synchronisation with this fault'),
  })
  .meta({ id: 'MemorySourceFault' });
export type SourceFaultView = z.output<typeof SourceFaultView>;

export const ListFaultsQuery = z.object({
  limit: textInteger(z.int().min(1).max(1000).default(100)),
  cursor: lineOfText
    .max(KEY_CHARS_MAX)
    .optional()
    .describe('key of the last entry of the previous page')
    .transform((cursor) => cursor || undefined),
});
export type ListFaultsQuery = z.output<typeof ListFaultsQuery>;

/** Body of `POST /v1/memory/preview`: a connected source, or the settings of a new one. */
export const PreviewRequest = z
  .object({
    source: z.string().min(1).max(128).optional().describe('id or name of a connected source'),
    connection: NewSource.shape.connection.optional(),
    config: NewSource.shape.config,
    limit: z.int().min(1).max(100).default(10).describe('entries to show'),
  })
  .refine(({ source, connection }) => (source === undefined) !== (connection === undefined), {
    message: 'name either a source or a connection',
    path: ['connection'],
  });
export type PreviewRequest = z.output<typeof PreviewRequest>;

const count = z.int().min(0);

/** Preview of a source: entries that a synchronisation would find, and their estimated cost. */
export const SourcePreview = z
  .object({
    entries: z.array(
      z.object({ key: z.string(), size_bytes: count, event_time: timestamp.nullable() }).meta({ id: 'PreviewedEntry' }),
    ),
    is_complete: z.boolean().describe('false: listing the source took too long, so it has more entries'),
    entries_count: count,
    size_bytes: count,
    tokens: count.describe('estimate from the sizes'),
    chunks: count.describe('estimate from the sizes'),
    cost_usd: z.number().nullable().describe('price of the tokens with the model in use; null: it is not known'),
    changes: z
      .object({ added: count, changed: count, removed: count, unchanged: count })
      .nullable()
      .describe('null if the source is not connected, or if the listing is not complete'),
    faults: z.array(SourceFaultView.omit({ since: true })).describe('the first entries that cannot be read'),
    faults_count: count,
  })
  .meta({ id: 'MemorySourcePreview' });
export type SourcePreview = z.output<typeof SourcePreview>;

export const SyncReply = z.object({ id: z.string(), job_id: z.string(), status: z.enum(['queued', 'syncing']) });
export type SyncReply = z.output<typeof SyncReply>;

export const DeleteSourceQuery = z.object({
  keep_documents: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .describe('true: its documents stay in the bucket'),
});

export const DeletedSource = z.object({ id: z.string(), deleted: z.literal(true), documents: z.int() });
export type DeletedSource = z.output<typeof DeletedSource>;

export const TEMPORAL_MODES = ['before', 'after', 'between', 'as_of', 'latest'] as const;

/** Unix time from the year 1 to the year 9999. */
const unixSeconds = z.number().min(-62_135_596_800).max(253_402_300_799);

export const MemorySearchRequest = z
  .object({
    query: z.string().min(1, 'must not be empty').max(8000),
    bucket: BucketRef.optional(),
    buckets: z.array(BucketRef).min(1).max(BUCKETS_MAX).optional(),
    sources: z.array(z.string().max(64)).max(100).optional().describe('types of sources'),
    tags: z.array(Tag).max(100).optional().describe('key:value; a document must have all of them'),
    top_k: z.int().min(1).max(100).default(20),
    highlights: SearchRequest.shape.highlights,
    correct: SearchRequest.shape.correct,
    temporal: z.enum(TEMPORAL_MODES).optional(),
    temporal_start: unixSeconds.optional().describe('Unix seconds'),
    temporal_end: unixSeconds.optional().describe('Unix seconds'),
  })
  .superRefine((request, context) => {
    const { temporal, temporal_start: start, temporal_end: end } = request;
    const missing = (name: string) =>
      context.addIssue({ code: 'custom', path: [name], message: `is needed with temporal "${temporal}"` });
    if (temporal !== undefined && temporal !== 'latest' && start === undefined) missing('temporal_start');
    if (temporal === 'between' && end === undefined) missing('temporal_end');
    if (temporal === 'between' && start !== undefined && end !== undefined && end < start) {
      context.addIssue({ code: 'custom', path: ['temporal_end'], message: 'must not be before temporal_start' });
    }
  });
export type MemorySearchRequest = z.output<typeof MemorySearchRequest>;

export const MemorySearchResult = SearchResult.extend({
  bucket_id: z.string(),
  event_time: timestamp.nullable(),
  source: z
    .object({ id: z.string(), type: z.enum(SOURCE_TYPES), name: z.string().nullable() })
    .nullable()
    .describe('null for an uploaded document; the name is null unless you may see the source'),
}).meta({ id: 'MemorySearchResult' });
export type MemorySearchResult = z.output<typeof MemorySearchResult>;

export const MemorySearchResponse = z
  .object({
    object: z.literal('list'),
    search_id: SearchResponse.shape.search_id,
    bucket_ids: z.array(z.string()),
    model: z.string().nullable(),
    results: z.array(MemorySearchResult),
    relevance: Relevance.describe('relevance of the best result; none: no result seems to answer the query'),
    relevance_score: RelevanceScore.describe('that of the most relevant result'),
    corrected: z.array(CorrectedWord).describe('words of the query that were replaced'),
    usage: z.object({ tokens: z.int() }),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'MemorySearchResults' });
export type MemorySearchResponse = z.output<typeof MemorySearchResponse>;
