import { ACCESS_POLICY_KEYS, DOCUMENT_STATE_KEYS, PIPELINE_RESERVED_KEYS } from '../../documents/user-metadata.ts';

const COLUMNS = [
  'file_name',
  'file_type',
  'classification',
  'review_status',
  'scope',
  'owner_department',
  'source_path',
] as const;
export type FilterColumn = (typeof COLUMNS)[number];
/** Document fields that a filter may name, besides user metadata. */
export const FILTER_COLUMNS: ReadonlySet<string> = new Set(COLUMNS);

/** Reserved metadata keys of documents from connected sources. */
const SOURCE_KEYS = [
  'source_kind',
  'source_connection_id',
  'source_row_id',
  'source_schema',
  'source_table',
  'source_pk',
];

/** Reserved keys that a filter can match. */
export const SYSTEM_FILTERABLE: readonly string[] = [...COLUMNS, ...SOURCE_KEYS];

/** Reserved keys that no filter can match: no document has them as metadata, and they aren't filterable fields. */
export const UNMATCHED_KEYS: ReadonlySet<string> = new Set(
  [...PIPELINE_RESERVED_KEYS, ...ACCESS_POLICY_KEYS, ...DOCUMENT_STATE_KEYS].filter(
    (key) => !SYSTEM_FILTERABLE.includes(key),
  ),
);

/** Return the reason why a filter can't match a key, or null if it can. */
export function filterKeyFault(key: string): string | null {
  if (!UNMATCHED_KEYS.has(key)) return null;
  return `"${key}" is reserved and cannot be used in a filter; filters can use these keys of the service: ${SYSTEM_FILTERABLE.join(', ')}`;
}
