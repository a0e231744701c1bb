import { z } from 'zod';

/**
 * Bodies of the REST API, as far as this client reads them. They are loose: a newer server may send more fields, which
 * are passed on.
 */
export const Me = z.looseObject({
  org: z.looseObject({ id: z.string(), name: z.string() }),
  kind: z.enum(['key', 'user', 'operator', 'client']),
  grant: z.looseObject({ client_id: z.string(), given_by: z.string(), tool_server: z.string() }).optional(),
  user_id: z.string().nullish(),
  scopes: z.array(z.string()),
  auth_level: z.number(),
});
export const DocumentReply = z.looseObject({ id: z.string() });
export const DocumentList = z.looseObject({
  data: z.array(
    z.looseObject({
      id: z.string(),
      content_type: z.string().nullish(),
      size_bytes: z.number().optional(),
      chunks_count: z.number().nullish(),
    }),
  ),
});
export type DocumentDetails = z.output<typeof DocumentList>['data'][number];

export type Me = z.output<typeof Me>;

/** Metadata of the API as an authorization server (RFC 8414). */
export const AuthorizationServer = z.looseObject({ issuer: z.url() });

/** Public facts about a server. Earlier releases don't say if they answer questions. */
export const Installation = z.looseObject({ answers: z.boolean().default(false) });

export const OpenApiPaths = z.looseObject({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) });

export const Bucket = z.looseObject({
  id: z.string(),
  name: z.string(),
  document_count: z.number().optional(),
});

/** Schema of a list, whose items are in `data`. */
const nextCursor = z.string().nullish();

export const BucketList = z.looseObject({ data: z.array(Bucket), next_cursor: nextCursor });

export const Collection = z.looseObject({ id: z.string(), bucket_id: z.string(), name: z.string() });
export const CollectionList = z.looseObject({ data: z.array(Collection), next_cursor: nextCursor });

/** Sentences of a passage, in parts. Some parts are matched query words. */
const Highlights = z.array(z.looseObject({ parts: z.array(z.looseObject({ text: z.string(), match: z.boolean() })) }));

/** Position of a passage in its document. */
const Place = z.looseObject({
  page: z.number().nullish(),
  sheet: z.string().nullish(),
  slide: z.number().nullish(),
  heading_path: z.array(z.string()).optional(),
});

export const SearchResult = z.looseObject({
  id: z.string(),
  document_id: z.string(),
  chunk_index: z.number(),
  text: z.string(),
  score: z.number(),
  relevance: z.string().nullish(),
  relevance_score: z.number().nullish(),
  highlights: Highlights.optional(),
  metadata: z.record(z.string(), z.unknown()),
  citation: z.looseObject({
    file_name: z.string(),
    source_path: z.string().nullable(),
    locator: Place,
    url: z.string().nullable(),
  }),
});
export type SearchResult = z.output<typeof SearchResult>;

export const AnswerReply = z.looseObject({
  status: z.string(),
  answer: z.string(),
  relevance: z.string().nullish(),
  passages: z.array(
    z.looseObject({
      number: z.number(),
      chunk_id: z.string(),
      document_id: z.string(),
      bucket_id: z.string(),
      chunk_index: z.number(),
      text: z.string(),
      relevance_score: z.number().nullish(),
      citation: SearchResult.shape.citation,
    }),
  ),
  sentences: z.array(z.looseObject({ citations: z.array(z.number()) })),
  warnings: z.array(z.string()).default([]),
});
export type AnswerReply = z.output<typeof AnswerReply>;

export const SearchReply = z.looseObject({
  results: z.array(SearchResult),
  relevance: z.string().nullish(),
  relevance_score: z.number().nullish(),
  corrected: z.array(z.looseObject({ from: z.string(), to: z.string() })).optional(),
  warnings: z.array(z.string()).optional(),
});
export type SearchReply = z.output<typeof SearchReply>;

const DocumentChunk = z.looseObject({
  id: z.string(),
  chunk_index: z.number(),
  text: z.string(),
  highlights: Highlights.optional(),
  locator: Place.extend({
    start: z.number(),
    end: z.number(),
    table_header: z.string().optional(),
    places: z
      .array(z.looseObject({ start: z.number(), page: z.number().nullable(), heading_path: z.array(z.string()) }))
      .optional(),
  }),
});
export type DocumentChunk = z.output<typeof DocumentChunk>;

export const DocumentChunks = z.looseObject({
  id: z.string(),
  bucket_id: z.string(),
  file_name: z.string(),
  page_count: z.number().nullable(),
  chunks_count: z.number(),
  url: z.string().nullable(),
  place: z.looseObject({ start: z.number(), heading_path: z.array(z.string()) }).optional(),
  chunks: z.array(DocumentChunk),
  next: z.number().nullable(),
  found: z.looseObject({ chunks: z.number(), complete: z.boolean() }).optional(),
});
export type DocumentChunks = z.output<typeof DocumentChunks>;

export const UploadReply = z.looseObject({
  id: z.string(),
  job_id: z.string().nullable(),
  bucket_id: z.string(),
  status: z.string(),
  duplicate_of: z.string().optional(),
  warnings: z.array(z.string()).optional(),
});
export type UploadReply = z.output<typeof UploadReply>;

export const Job = z.looseObject({ id: z.string(), status: z.string(), error_message: z.string().nullish() });
export type Job = z.output<typeof Job>;

export const MemorySource = z.looseObject({
  id: z.string(),
  name: z.string(),
  type: z.string(),
  sync_state: z.string(),
  indexed_document_count: z.number(),
});
/** Schema of the list of sources, which is a bare array. */
export const MemorySourceList = z.array(MemorySource);

export const Workflow = z.looseObject({ id: z.string(), name: z.string(), status: z.string() });
export const WorkflowList = z.union([
  z.array(Workflow).transform((data) => ({ data, next_cursor: null })),
  z.looseObject({ data: z.array(Workflow), next_cursor: nextCursor }),
]);

export const WorkflowRun = z.looseObject({ status: z.string() });
