import type { HistoryEntry } from '../metadata/read-history.ts';
import type { BulkEditItem, BulkEditReply, ReservedKeys } from '../metadata/schema.ts';
import type { Column } from './table.ts';

/** Build the columns of a table of documents that match a statement. For an edit, show the fields that it changes. */
export function itemColumns(fileNames: ReadonlyMap<string, string>, isEdit: boolean): Column<BulkEditItem>[] {
  return [
    ['id', (item) => item.id],
    ['file', (item) => fileNames.get(item.id), 'may be cut'],
    ['search', (item) => (item.searchable ? 'on' : 'off')],
    isEdit
      ? ['change', describeChange, 'may be cut']
      : ['metadata', (item) => describePairs(item.metadata), 'may be cut'],
    ['note', (item) => item.warnings.join('; '), 'may be cut'],
  ];
}

/** Return the counts of a response, without its documents. */
export function countsOf({ bucket_id, items, warnings, dry_run, ...counts }: BulkEditReply): Record<string, unknown> {
  return counts;
}

/** List a response's distinct warnings: first those about the whole statement, then those about documents. */
export function warningsOf(reply: BulkEditReply): string[] {
  const times = new Map<string, number>();
  for (const warning of reply.items.flatMap((item) => item.warnings)) times.set(warning, (times.get(warning) ?? 0) + 1);
  return [
    ...reply.warnings,
    ...[...times].map(([warning, count]) => `${warning} (${count} ${count === 1 ? 'document' : 'documents'})`),
  ];
}

export const historyColumns: Column<HistoryEntry>[] = [
  ['at', (entry) => entry.at],
  ['who', (entry) => entry.actor],
  ['action', (entry) => entry.action.replace(/^document\./, '')],
  ['change', describeChange, 'may be cut'],
  ['statement', (entry) => entry.statement, 'may be cut'],
];

/** Render a change as `metadata.team: a -> b, privacy_level: 1 -> 4`. */
function describeChange({ before, after }: Pick<HistoryEntry, 'before' | 'after'>): string {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].map((key) => `${key}: ${before[key] ?? '-'} -> ${after[key] ?? '-'}`).join(', ');
}

function describePairs(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}

interface KeyRow {
  readonly key: string;
  readonly use: string;
}

/** List the reserved keys and their uses. */
export function keyRows(keys: ReservedKeys): KeyRow[] {
  const rows = (names: readonly string[], use: string) => names.map((key) => ({ key, use }));
  return [
    ...rows(keys.pipeline_reserved, 'written by ingest and search'),
    ...rows(
      keys.reserved_prefixes.map((prefix) => `${prefix}*`),
      'written by the service',
    ),
    ...rows(keys.access_policy, 'access policy'),
    ...rows(keys.document_state, 'state of a document'),
  ];
}

export const keyColumns: Column<KeyRow>[] = [
  ['key', (row) => row.key],
  ['use', (row) => row.use],
];
