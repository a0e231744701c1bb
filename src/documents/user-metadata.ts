import { z } from 'zod';

/** Limits of user metadata (contract 2.7). */
export const METADATA_LIMITS = { jsonBytes: 4096, keys: 32, keyLength: 64, valueLength: 512 } as const;

/** Keys that only ingest and search may write (contract 2.7). */
export const PIPELINE_RESERVED_KEYS = [
  ...['chunk_id', 'document_id', 'doc_id', 'bucket_id', 'ingest_job_id'],
  ...['s3_chunk', 'source_path', 'file_name', 'file_type', 'source_kind', 'source_connection_id', 'source_row_id'],
  ...['source_schema', 'source_table', 'source_pk'],
  ...['chunk_index', 'locator', 'text', 'modality', 'embed_model'],
  ...['vector_score', 'bm25_score', 'rrf_score', 'rerank_score', 'hit_score', 'hit_boost'],
  ...['_graph_injected', 'graph_expanded', 'semantic_registry_boost', 'semantic_registry_terms'],
  ...['semantic_registry_attachments', 'event_time'],
] as const;

export const RESERVED_PREFIXES = ['schift.'] as const;

/** Keys of the access policy; only `scope` may be set through user metadata. */
export const ACCESS_POLICY_KEYS = [
  'privacy_level',
  'internal_accessible',
  'public_accessible',
  'classification',
  'review_status',
  'owner_department',
  'scope',
  'uploaded_by_user_id',
  'access_users',
  'access_groups',
] as const;

export const DOCUMENT_STATE_KEYS = ['deleted', 'disabled', 'searchable', 'status'] as const;

const RESERVED = new Set<string>([...PIPELINE_RESERVED_KEYS, ...ACCESS_POLICY_KEYS, ...DOCUMENT_STATE_KEYS]);
RESERVED.delete('scope');

// biome-ignore lint/suspicious/noControlCharactersInRegex: the expression finds control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Stored metadata: scalar values as strings. */
export const UserMetadata = z.record(z.string(), z.string());
export type UserMetadata = z.output<typeof UserMetadata>;

/** Return true if a text has more than `max` code points. */
export function isLonger(text: string, max: number): boolean {
  return text.length > max && (text.length > 2 * max || Array.from(text).length > max);
}

/** Reason to refuse integers that JSON readers round, which would store or find another number. */
export const ROUNDED_RULE = 'is an integer beyond 2^53, which JSON numbers round; send it as a string';

/** Return true for an integer that may have been rounded. */
export function isRounded(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value);
}

/** JSON Schema of numbers that aren't refused as rounded. */
export const EXACT_NUMBER = { type: 'number', minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

/** Return true for a reserved key prefix in any case, since readers could confuse `Schift.x` and `schift.x`. */
function hasReservedPrefix(key: string): boolean {
  return RESERVED_PREFIXES.some((prefix) => key.toLowerCase().startsWith(prefix));
}

/** Return the reason why callers can't use this metadata key, or null. */
export function userKeyFault(key: string): string | null {
  if (!/^[A-Za-z0-9_.-]+$/.test(key)) return 'key may only have A-Z a-z 0-9 _ . -';
  if (key.length > METADATA_LIMITS.keyLength) return `key is longer than ${METADATA_LIMITS.keyLength}`;
  // Refuse `__proto__`, which JavaScript objects would silently drop.
  if (RESERVED.has(key) || key === '__proto__' || hasReservedPrefix(key)) {
    return 'key is reserved by the service; see GET /v1/metadata/reserved-keys';
  }
  return null;
}

/**
 * Return the reason why a document can't store the merged metadata of an edit, or null. Metadata that already exceeds
 * the limits, from an earlier release, may shrink.
 */
export function mergedMetadataFault(merged: UserMetadata, before: UserMetadata): string | null {
  const { jsonBytes, keys } = METADATA_LIMITS;
  const count = Object.keys(merged).length;
  if (count > keys && count >= Object.keys(before).length) return `a document has at most ${keys} keys`;
  const bytes = bytesOf(merged);
  return bytes > jsonBytes && bytes >= bytesOf(before)
    ? `a document has at most ${jsonBytes} bytes of metadata as JSON`
    : null;
}

function bytesOf(metadata: UserMetadata): number {
  return Buffer.byteLength(JSON.stringify(metadata));
}

/** JSON Schema of user metadata keys. */
export const USER_KEY_SHAPE = {
  pattern: '^[A-Za-z0-9_.-]+$',
  maxLength: METADATA_LIMITS.keyLength,
  not: { anyOf: [{ enum: [...RESERVED, '__proto__'] }, { pattern: '^[Ss][Cc][Hh][Ii][Ff][Tt]\\.' }] },
};

/** JSON Schemas of user metadata values. */
export const USER_SCALARS = [
  { type: 'string', maxLength: METADATA_LIMITS.valueLength, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' },
  EXACT_NUMBER,
  { type: 'boolean' },
] as const;

/**
 * Metadata as sent by a caller. Scalars become NFC strings. `null` removes a key in an edit and is dropped at upload.
 * Only this schema checks the rules of contract 2.7.
 */
export const UserMetadataInput = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()]))
  .superRefine((metadata, context) => {
    const fault = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    const keys = Object.keys(metadata);
    if (keys.length > METADATA_LIMITS.keys) fault([], `must have at most ${METADATA_LIMITS.keys} keys`);
    if (Buffer.byteLength(JSON.stringify(metadata)) > METADATA_LIMITS.jsonBytes) {
      fault([], `must be at most ${METADATA_LIMITS.jsonBytes} bytes of JSON`);
    }
    for (const key of keys.slice(0, 100)) {
      const value = metadata[key];
      const keyFault = userKeyFault(key);
      if (keyFault !== null) fault([key], keyFault);
      if (typeof value === 'number' && !Number.isFinite(value)) fault([key], 'must be a finite number');
      if (isRounded(value)) fault([key], ROUNDED_RULE);
      if (isLonger(String(value), METADATA_LIMITS.valueLength)) {
        fault([key], `value is longer than ${METADATA_LIMITS.valueLength} characters`);
      }
      if (typeof value === 'string' && (CONTROL.test(value) || !value.isWellFormed())) {
        fault([key], 'value must be well-formed text without control characters');
      }
    }
  })
  .transform((metadata) =>
    Object.fromEntries(
      Object.entries(metadata).map(([key, value]) => [key, value === null ? null : String(value).normalize('NFC')]),
    ),
  )
  .meta({
    maxProperties: METADATA_LIMITS.keys,
    propertyNames: USER_KEY_SHAPE,
    additionalProperties: { anyOf: [...USER_SCALARS, { type: 'null' }] },
    description: `scalars by key; at most ${METADATA_LIMITS.jsonBytes} bytes of JSON`,
  });
export type UserMetadataInput = z.output<typeof UserMetadataInput>;
