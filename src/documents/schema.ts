import { z } from 'zod';
import { isPlainName, PLAIN_NAME_RULE } from '../platform/printable.ts';
import { textInteger } from '../platform/zod-integers.ts';
import { AccessInput, AccessView } from './access-list.ts';
import { ENGINES } from './engines.ts';
import { UserMetadata } from './user-metadata.ts';

const timestamp = z.iso.datetime();

export const CLASSIFICATIONS = ['internal', 'public', 'restricted', 'confidential'] as const;

/** Bucket name, as typed by operators and scripts. Must not start with `bkt_`, the prefix of ids. */
export const BucketName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/,
    'must be 1 to 63 characters of A-Z a-z 0-9 . _ - and start with a letter or digit',
  )
  .refine((name) => !name.startsWith('bkt_'), 'must not start with "bkt_"')
  .meta({ not: { pattern: '^bkt_' } });

export const BucketPolicy = z.object({
  max_privacy_level: z.int().min(1).max(10).default(10),
  public_max_privacy_level: z.int().min(1).max(10).default(1),
  allow_public: z.boolean().default(true),
  departments: z
    .array(z.string().normalize('NFC').min(1).max(128).refine(isPlainName, PLAIN_NAME_RULE))
    .max(100)
    .optional(),
  default_access: AccessView.optional().describe('access policy of documents without one of their own'),
});
export type BucketPolicy = z.output<typeof BucketPolicy>;

export const Engine = z.enum(ENGINES);
export type Engine = z.output<typeof Engine>;

export const CreateBucket = z.object({
  name: BucketName,
  policy: BucketPolicy.omit({ default_access: true }).prefault({}),
  engine: Engine.default('lance').describe('engine of the search index; milvus needs the setting index.milvus'),
});

/** Body of `PATCH /v1/buckets/{bucket}`; omitted fields stay unchanged. */
export const EditBucket = z.object({
  name: BucketName.optional(),
  policy: z
    .object({
      max_privacy_level: z.int().min(1).max(10).optional(),
      public_max_privacy_level: z.int().min(1).max(10).optional(),
      allow_public: z.boolean().optional(),
      departments: BucketPolicy.shape.departments.unwrap().nullable().optional().describe('null: any department'),
      default_access: AccessInput.optional().describe(
        'access policy of documents without one of their own; null: none',
      ),
    })
    .optional(),
});
export type EditBucket = z.output<typeof EditBucket>;

export const BucketView = z
  .object({
    id: z.string(),
    name: z.string(),
    policy: BucketPolicy,
    engine: Engine.describe('engine of the search index'),
    document_count: z.int().optional(),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Bucket' });
export type BucketView = z.output<typeof BucketView>;

/** Edited bucket, with warnings about documents that exceed its policy. */
export const EditedBucket = BucketView.extend({ warnings: z.array(z.string()) }).meta({ id: 'EditedBucket' });
export type EditedBucket = z.output<typeof EditedBucket>;

/** Reference to a bucket in a request body. */
export const BucketRef = z
  .string()
  .min(1)
  .max(200)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the database stores every character but this one
  .regex(/^[^\u0000]*$/, 'must not contain U+0000')
  .describe('id or name');

/** Body of a new collection. Its name must not start with `col_`, the prefix of ids. */
export const CreateCollection = z.object({
  name: z
    .string()
    .normalize('NFC')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: names have none, and `\p{Cc}` is not portable
    .regex(/^[^\u0000-\u001f\u007f-\u009f]{1,128}$/u, 'must be 1 to 128 characters without control characters')
    .refine(isPlainName, PLAIN_NAME_RULE)
    .refine((name) => !name.startsWith('col_'), 'must not start with "col_"'),
});

export const CollectionView = z
  .object({ id: z.string(), bucket_id: z.string(), name: z.string(), created_at: timestamp })
  .meta({ id: 'Collection' });
export type CollectionView = z.output<typeof CollectionView>;

export const DOCUMENT_STATUSES = ['queued', 'processing', 'ready', 'failed', 'deleting'] as const;
export type DocumentStatus = (typeof DOCUMENT_STATUSES)[number];

/** Build a schema that accepts `true` and `false`, or their text in a multipart field. */
export function formBoolean<T extends z.ZodType>(schema: T) {
  return z.preprocess((value) => (value === 'true' || value === 'false' ? value === 'true' : value), schema);
}

/** Default of `chunk_overlap`; at most half of `chunk_size`. */
const OVERLAP_TOKENS = 60;

/** Ingest options in a request. `completeOptions` adds the overlap. */
export const IngestFields = z.object({
  ocr_strategy: z.enum(['auto', 'never', 'always']).default('auto'),
  chunk_size: textInteger(z.int().min(64).max(4000).default(400).describe('number of tokens in a chunk')),
  chunk_overlap: textInteger(
    z
      .int()
      .min(0)
      .optional()
      .describe(
        `number of tokens repeated from the previous chunk; default: ${OVERLAP_TOKENS}, or half of chunk_size if that is less`,
      ),
  ),
});
export type IngestFields = z.output<typeof IngestFields>;

/** Return true if the overlap is at most half of the chunk size. */
export function overlapFits({ chunk_size: size, chunk_overlap: overlap = 0 }: IngestFields): boolean {
  return overlap <= size / 2;
}
export const OVERLAP_RULE = { path: ['chunk_overlap'], message: 'must be at most half of chunk_size' } as const;

/** Select the ingest options, and fill in defaults that depend on other options. */
export function completeOptions({ ocr_strategy, chunk_size, chunk_overlap }: IngestFields) {
  return {
    ocr_strategy,
    chunk_size,
    chunk_overlap: chunk_overlap ?? Math.min(OVERLAP_TOKENS, Math.floor(chunk_size / 2)),
  };
}

// `refine` changes the object that it receives.
export const IngestOptions = IngestFields.refine(overlapFits, {
  ...OVERLAP_RULE,
  path: [...OVERLAP_RULE.path],
}).transform(completeOptions);
export type IngestOptions = z.output<typeof IngestOptions>;

export const DocumentView = z
  .object({
    id: z.string(),
    bucket_id: z.string(),
    collection_id: z.string().nullable(),
    file_name: z.string(),
    file_type: z.string().nullable().describe('the format found in the bytes'),
    content_type: z.string().nullable(),
    size_bytes: z.int(),
    sha256: z.string(),
    status: z.enum(DOCUMENT_STATUSES),
    error_message: z
      .string()
      .nullable()
      .describe('reason why the document failed, or why searches do not find its newest content yet'),
    error_category: z.string().nullable().describe('category of that error, from the newest job of the document'),
    job_id: z
      .string()
      .nullable()
      .describe('id of the newest job of the document; null in responses that do not look it up'),
    searchable: z.boolean(),
    chunks_count: z.int().nullable(),
    page_count: z.int().nullable(),
    embed_model: z.string().nullable(),
    metadata: UserMetadata,
    privacy_level: z.int(),
    classification: z.string(),
    review_status: z.string(),
    scope: z.string().nullable(),
    internal_accessible: z.boolean(),
    public_accessible: z.boolean(),
    access: AccessView.nullable().describe('users and groups that may read it; null: no such limit'),
    owner_department: z.string().nullable(),
    uploaded_by_user_id: z.string().nullable(),
    source_path: z.string().nullable(),
    event_time: timestamp.nullable().describe('time of the content, if it came from a connected source'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Document' });
export type DocumentView = z.output<typeof DocumentView>;

/** Sort fields of a document list; `created` is the upload order. */
export const DOCUMENT_SORTS = ['created', 'changed', 'name', 'size'] as const;
export type DocumentSort = (typeof DOCUMENT_SORTS)[number];

/** Text filter in a query. An empty parameter counts as absent. */
const textFilter = (max: number) =>
  z
    .string()
    .max(max)
    .refine((text) => !text.includes('\0'), 'must not have a null character')
    .optional()
    .transform((text) => text?.normalize('NFC') || undefined);

const NAME_CHARS_MAX = 200;
const FOLDER_CHARS_MAX = 4_096;
/** Maximum length of a cursor, which holds an id and a name of up to 4 bytes per character. */
const CURSOR_CHARS_MAX = 8_192;

export const FolderFilter = textFilter(FOLDER_CHARS_MAX).describe('folder of the source path, such as `reports/2026`');

export const ListDocumentsQuery = z.object({
  cursor: z
    .string()
    .max(CURSOR_CHARS_MAX)
    .regex(/^[\w-]*$/, 'must be the next_cursor of an earlier page')
    .optional()
    .describe('next_cursor of the previous page, with the same `sort`')
    .transform((cursor) => cursor || undefined),
  limit: textInteger(z.int().min(1).max(200).default(50)),
  status: z.enum(DOCUMENT_STATUSES).optional(),
  name: textFilter(NAME_CHARS_MAX).describe('part of the file name or of the source path, in any case'),
  type: textFilter(64).describe('format found in the bytes, such as `pdf`'),
  folder: FolderFilter,
  sort: z.enum(DOCUMENT_SORTS).optional().describe('default: created'),
  order: z.enum(['asc', 'desc']).optional().describe('default: desc'),
});
export type ListDocumentsQuery = z.output<typeof ListDocumentsQuery>;

const IDS_MAX = 100;

export const FindDocumentsQuery = z
  .object({
    name: z
      .string()
      .trim()
      .min(1)
      .max(NAME_CHARS_MAX)
      .normalize('NFC')
      .optional()
      .describe('part of the file name or source path'),
    ids: z
      .string()
      .regex(/^\w{1,64}(?:,\w{1,64})*$/, 'must be ids of documents, separated by commas')
      .transform((ids) => ids.split(','))
      .pipe(z.array(z.string()).max(IDS_MAX))
      .optional()
      .describe(`instead of \`name\`: ids of documents, separated by commas, at most ${IDS_MAX}`),
    limit: textInteger(z.int().min(1).max(IDS_MAX).default(10)),
  })
  .refine(({ name, ids }) => (name === undefined) !== (ids === undefined), 'give either name or ids');
export type FindDocumentsQuery = z.output<typeof FindDocumentsQuery>;

/** Folders and formats of a bucket's documents that the caller may see. */
export const BucketContents = z
  .object({
    object: z.literal('bucket.contents'),
    folders: z
      .array(z.object({ name: z.string(), documents: z.int() }))
      .describe('folders directly below `folder`, by name, at most 500; the numbers include documents in subfolders'),
    types: z.array(z.object({ type: z.string(), documents: z.int() })).describe('formats, most documents first'),
  })
  .meta({ id: 'BucketContents' });
export type BucketContents = z.output<typeof BucketContents>;
