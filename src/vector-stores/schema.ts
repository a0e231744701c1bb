import { z } from 'zod';
import { Order } from '../files/list-page.ts';
import { Metadata, storableText } from '../files/metadata.ts';
import { textInteger } from '../platform/zod-integers.ts';
import { AttributesInput, AttributesView } from './attributes.ts';
import { ChunkingStrategy, UsedChunking } from './chunking.ts';

// Shapes follow the pages Vector stores, Vector store files and Vector store file batches of OpenAI's API reference
// (developers.openai.com, November 2026), and openapi.yaml of openai/openai-openapi of August 2026.

const FILES_OF_NEW_STORE_MAX = 500;
const FILES_OF_BATCH_MAX = 2_000;
const ID_CHARS_MAX = 128;

const Time = z.int().describe('Unix time in seconds');
const Id = storableText(ID_CHARS_MAX).min(1);

/** Pagination query of a list. */
export const PageQuery = z.object({
  limit: textInteger(z.int().min(1).max(100).default(20)),
  order: Order,
  after: Id.optional().describe('id of the last item of the previous page'),
  before: Id.optional().describe('id of the first item of the next page'),
});
export type PageQuery = z.output<typeof PageQuery>;

const Expiry = z.object({ anchor: z.literal('last_active_at'), days: z.int().min(1).max(365) });

const name = storableText(256);

export const CreateVectorStore = z.object({
  name: name.optional(),
  description: storableText(512).optional(),
  file_ids: z.array(Id).max(FILES_OF_NEW_STORE_MAX).optional(),
  chunking_strategy: ChunkingStrategy.optional().describe('of the files of file_ids'),
  expires_after: Expiry.optional(),
  metadata: Metadata.nullish(),
});
export type CreateVectorStore = z.output<typeof CreateVectorStore>;

export const EditVectorStore = z.object({
  name: name.nullable().optional().describe('null: that of the bucket'),
  expires_after: Expiry.nullable().optional().describe('null: never'),
  metadata: Metadata.nullable().optional(),
});
export type EditVectorStore = z.output<typeof EditVectorStore>;

const FileCounts = z.object({
  in_progress: z.int(),
  completed: z.int(),
  failed: z.int(),
  cancelled: z.int(),
  total: z.int(),
});
export type FileCounts = z.output<typeof FileCounts>;

export const VectorStoreView = z
  .object({
    id: z.string().describe('id of the bucket'),
    object: z.literal('vector_store'),
    created_at: Time,
    name: z.string(),
    description: z.string().nullable(),
    usage_bytes: z.int(),
    file_counts: FileCounts.describe('files that the caller may see'),
    status: z.enum(['expired', 'in_progress', 'completed']),
    expires_after: Expiry.nullable(),
    expires_at: Time.nullable(),
    last_active_at: Time.nullable().describe(
      'null for a bucket that was created in another way and never changed through this API',
    ),
    metadata: z.record(z.string(), z.string()),
  })
  .meta({ id: 'VectorStore' });
export type VectorStoreView = z.output<typeof VectorStoreView>;

export const DeletedVectorStore = z.object({
  id: z.string(),
  object: z.literal('vector_store.deleted'),
  deleted: z.literal(true),
});

export const FILE_STATES = ['in_progress', 'completed', 'failed', 'cancelled'] as const;
export type FileState = (typeof FILE_STATES)[number];

export const StoreFileRequest = z.object({
  file_id: Id,
  attributes: AttributesInput.nullish(),
  chunking_strategy: ChunkingStrategy.optional(),
});
export type StoreFileRequest = z.output<typeof StoreFileRequest>;

export const EditStoreFile = z.object({ attributes: AttributesInput.nullable() });

export const StoreFilesQuery = PageQuery.extend({ filter: z.enum(FILE_STATES).optional() });
export type StoreFilesQuery = z.output<typeof StoreFilesQuery>;

export const StoreFileView = z
  .object({
    id: z.string().describe('id of the file; id of the document if it was uploaded in another way'),
    object: z.literal('vector_store.file'),
    created_at: Time,
    vector_store_id: z.string(),
    usage_bytes: z.int(),
    status: z.enum(FILE_STATES),
    last_error: z
      .object({ code: z.enum(['server_error', 'unsupported_file', 'invalid_file']), message: z.string() })
      .nullable(),
    attributes: AttributesView,
    chunking_strategy: UsedChunking,
  })
  .meta({ id: 'FileOfVectorStore' });
export type StoreFileView = z.output<typeof StoreFileView>;

export const DeletedStoreFile = z.object({
  id: z.string(),
  object: z.literal('vector_store.file.deleted'),
  deleted: z.literal(true),
});

export const FileContentQuery = z.object({
  page: textInteger(z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0)).describe('next_page of the previous page'),
});

export const FileContentPage = z
  .object({
    object: z.literal('vector_store.file_content.page'),
    data: z.array(z.object({ type: z.literal('text'), text: z.string() })),
    has_more: z.boolean(),
    next_page: z.string().nullable(),
  })
  .meta({ id: 'VectorStoreFileContent' });
export type FileContentPage = z.output<typeof FileContentPage>;

export const CreateFileBatch = z
  .object({
    file_ids: z.array(Id).min(1).max(FILES_OF_BATCH_MAX).optional(),
    files: z.array(StoreFileRequest).min(1).max(FILES_OF_BATCH_MAX).optional(),
    attributes: AttributesInput.nullish().describe('of all files of file_ids'),
    chunking_strategy: ChunkingStrategy.optional().describe('of all files of file_ids'),
  })
  .refine(({ file_ids, files }) => (file_ids === undefined) !== (files === undefined), 'give either file_ids or files')
  .meta({ oneOf: [{ required: ['file_ids'] }, { required: ['files'] }] });
export type CreateFileBatch = z.output<typeof CreateFileBatch>;

export const FileBatchView = z
  .object({
    id: z.string(),
    object: z.literal('vector_store.files_batch'),
    created_at: Time,
    vector_store_id: z.string(),
    status: z.enum(FILE_STATES),
    file_counts: FileCounts,
  })
  .meta({ id: 'VectorStoreFileBatch' });
export type FileBatchView = z.output<typeof FileBatchView>;
