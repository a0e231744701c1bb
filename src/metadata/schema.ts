import { z } from 'zod';
import { AccessChange } from '../documents/access-policy.ts';
import {
  ACCESS_POLICY_KEYS,
  DOCUMENT_STATE_KEYS,
  EXACT_NUMBER,
  isLonger,
  isRounded,
  METADATA_LIMITS,
  PIPELINE_RESERVED_KEYS,
  RESERVED_PREFIXES,
  ROUNDED_RULE,
  UserMetadata,
  UserMetadataInput,
} from '../documents/user-metadata.ts';
import { SYSTEM_FILTERABLE } from '../search/filter/filter-keys.ts';
import { FIELD_NAMES } from './statement/fields.ts';
import { STATEMENT_LIMITS, STATEMENT_OPERATIONS } from './statement/parser.ts';

/** Default document limit of a bulk edit. */
export const LIMIT_DEFAULT = 500;

/** Maximum number of documents that a bulk edit can list by id. */
const IDS_MAX = 500;

/** Change of a document: its metadata (null removes a key), access policy and search status. */
export const DocumentEdit = AccessChange.extend({
  metadata: UserMetadataInput.optional().describe('merged into user metadata; null removes a key'),
  searchable: z.boolean().optional().describe('false: searches do not find the document, and its vectors are deleted'),
});
export type DocumentEdit = z.output<typeof DocumentEdit>;

const reindex = z.boolean().default(true).describe('true: delete the vectors and queue a job that computes them again');

/** Body of `PATCH …/documents/{document}/metadata`. */
export const SingleEdit = DocumentEdit.omit({ searchable: true }).extend({ reindex });
export type SingleEdit = z.output<typeof SingleEdit>;

export const EditReply = z
  .object({
    id: z.string(),
    bucket_id: z.string(),
    collection_id: z.string().nullable(),
    metadata: UserMetadata.describe('after the merge'),
    reindex_queued: z.boolean(),
    reindex_job_id: z.string().nullable(),
    indexed_vectors_deleted: z.int(),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'MetadataEdit' });
export type EditReply = z.output<typeof EditReply>;

const whereText = z
  .string()
  .refine((text) => !isLonger(text, METADATA_LIMITS.valueLength), {
    message: `value is longer than ${METADATA_LIMITS.valueLength} characters`,
  })
  .meta({ maxLength: METADATA_LIMITS.valueLength });
const whereNumber = z
  .number()
  .refine((value) => !isRounded(value), ROUNDED_RULE)
  .meta(EXACT_NUMBER);
const whereValue = z.union([whereText, whereNumber, z.boolean(), z.null()]);

/** Body of `PATCH …/documents/metadata/bulk`. A statement overrides `where` and the edit fields. */
export const BulkEdit = DocumentEdit.extend({
  // The parser checks the length.
  statement: z.string().meta({ maxLength: STATEMENT_LIMITS.characters }).optional(),
  confirm: z.string().optional().describe('for HARDDELETE: "HARDDELETE " and the bucket id'),
  where: z
    .record(z.string(), whereValue)
    .meta({ propertyNames: { pattern: '^[A-Za-z0-9_.-]{1,64}$' } })
    .optional()
    .describe('exact matches by key; null: the key is missing'),
  document_ids: z
    .array(z.string().min(1).max(64))
    .min(1)
    .max(IDS_MAX)
    .optional()
    .describe('only these documents. Without document_ids, where and statement, the request is a preview'),
  reindex,
  dry_run: z.boolean().default(false),
  limit: z
    .int()
    .min(1)
    .max(STATEMENT_LIMITS.limit)
    .optional()
    .describe(`maximum number of documents; default: ${LIMIT_DEFAULT}`),
});
export type BulkEdit = z.output<typeof BulkEdit>;

const changedValues = z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]));

/** Field values of a document before and after a change. */
const FieldChanges = z.object({
  before: changedValues.describe(
    'values of the changed fields before the change; user metadata as `metadata.<key>`, null if it was missing',
  ),
  after: changedValues.describe('values of the same fields after the change; null if the change removes the field'),
});
export type FieldChanges = z.output<typeof FieldChanges>;

export const BulkEditItem = FieldChanges.extend({
  id: z.string(),
  metadata: UserMetadata,
  searchable: z.boolean(),
  reindex_job_id: z.string().nullable(),
  indexed_vectors_deleted: z.int(),
  warnings: z.array(z.string()),
});
export type BulkEditItem = z.output<typeof BulkEditItem>;

export const BulkEditReply = z
  .object({
    bucket_id: z.string(),
    matched: z.int(),
    updated: z.int(),
    skipped: z.int(),
    reindex_queued: z.int(),
    indexed_vectors_deleted: z.int(),
    dry_run: z.boolean(),
    items: z.array(BulkEditItem),
    warnings: z.array(z.string()),
    status: z.literal('queued').optional().describe('only for a hard delete, which a job does'),
    job_id: z.string().optional(),
    delete_requested_at: z.iso.datetime().optional(),
  })
  .meta({ id: 'MetadataBulkEdit' });
export type BulkEditReply = z.output<typeof BulkEditReply>;

export const ReservedKeys = z
  .object({
    pipeline_reserved: z.array(z.string()),
    reserved_prefixes: z.array(z.string()),
    access_policy: z.array(z.string()),
    document_state: z.array(z.string()),
    knowledge_search: z.object({
      citation_metadata: z.array(z.string()),
      system_filterable: z.array(z.string()).describe('keys of the service that search filters can match'),
      user_filterable: z.string(),
    }),
    limits: z.object({
      json_bytes: z.int(),
      keys: z.int(),
      key_length: z.int(),
      value_length: z.int(),
    }),
    statement_operations: z.array(z.string()),
    statement_fields: z.array(z.string()).describe('fields of a document that conditions of statements can name'),
  })
  .meta({ id: 'ReservedKeys' });
export type ReservedKeys = z.output<typeof ReservedKeys>;

/** Describe reserved keys, keys usable in search filters and statements, and the limits of metadata (contract 4.14). */
export function describeReservedKeys(): ReservedKeys {
  return {
    pipeline_reserved: [...PIPELINE_RESERVED_KEYS],
    reserved_prefixes: [...RESERVED_PREFIXES],
    access_policy: [...ACCESS_POLICY_KEYS],
    document_state: [...DOCUMENT_STATE_KEYS],
    knowledge_search: {
      citation_metadata: ['file_name', 'source_path', 'locator', 'url'],
      system_filterable: [...SYSTEM_FILTERABLE],
      user_filterable: 'any key of user metadata: 1 to 64 characters of A-Z a-z 0-9 _ . - that is not reserved',
    },
    limits: {
      json_bytes: METADATA_LIMITS.jsonBytes,
      keys: METADATA_LIMITS.keys,
      key_length: METADATA_LIMITS.keyLength,
      value_length: METADATA_LIMITS.valueLength,
    },
    statement_operations: [...STATEMENT_OPERATIONS],
    statement_fields: [...FIELD_NAMES],
  };
}
