import { isDeepStrictEqual } from 'node:util';
import type { Caller } from '../access/caller.ts';
import { accessOf } from '../documents/access-list.ts';
import { type AccessPolicy, clampAccess } from '../documents/access-policy.ts';
import type { BucketPolicy, DocumentStatus } from '../documents/schema.ts';
import { mergedMetadataFault } from '../documents/user-metadata.ts';
import type { DocumentEdit, FieldChanges } from './schema.ts';

/** Locked document, as read for an edit. */
export interface EditableDocument {
  readonly id: string;
  readonly collectionId: string | null;
  readonly status: DocumentStatus;
  readonly searchable: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly access: AccessPolicy;
  readonly indexedVectors: number;
  /** True if the caller may read it, even while it is being deleted. */
  readonly isReadable: boolean;
  readonly file: { objectKey: string; fileName: string; sizeBytes: number; sourcePath: string | null };
}

/** Reason why a matched document is skipped. */
export type SkipReason = 'deleting' | 'hidden' | 'unchanged' | 'limits';

/** Planned change of a document. */
export interface PlannedEdit {
  readonly document: EditableDocument;
  readonly metadata: Record<string, string>;
  readonly access: AccessPolicy;
  readonly searchable: boolean;
  /** True to delete its vectors. */
  readonly dropsVectors: boolean;
  /** True if a job recomputes its vectors. */
  readonly isReindexed: boolean;
  /** True if that job also rereads the file, although the document did not change. */
  readonly readsFile: boolean;
  readonly warnings: string[];
}

export interface EditRequest {
  readonly edit: DocumentEdit;
  readonly reindex: boolean;
  readonly caller: Caller;
  readonly bucket: BucketPolicy;
}

/** Planned change, or the reason to skip the document. `fault`: the metadata limit that it would exceed. */
export type Planned =
  | { readonly plan: PlannedEdit }
  | { readonly skip: SkipReason; readonly fault?: string; readonly warnings?: readonly string[] };

export function planEdit(document: EditableDocument, { edit, reindex, caller, bucket }: EditRequest): Planned {
  if (!document.isReadable) return { skip: 'hidden' };
  if (document.status === 'deleting') return { skip: 'deleting' };
  const { scope, ...patch } = edit.metadata ?? {};
  const metadata = merge(document.metadata, patch);
  const fault = Object.keys(patch).length > 0 ? mergedMetadataFault(metadata, document.metadata) : null;
  if (fault !== null) return { skip: 'limits', fault };
  const { access, warnings } = clampAccess(document.access, { ...edit, scope }, caller, bucket);
  const searchable = edit.searchable ?? document.searchable;
  const isDisabled = document.searchable && !searchable;
  const isChanged =
    searchable !== document.searchable ||
    !isDeepStrictEqual(metadata, document.metadata) ||
    !isDeepStrictEqual(access, document.access);
  // Operators also use `reindex` to request new vectors, so it applies even if no value changes (contract 3.3).
  const isReindexed = reindex && searchable;
  if (reindex && !searchable && !isDisabled) warnings.push('search is disabled, so nothing was reindexed');
  if (searchable && !document.searchable && !reindex)
    warnings.push('search does not find the document until it is reindexed');
  if (!isChanged && !isReindexed) return { skip: 'unchanged', warnings };
  return {
    plan: {
      document,
      metadata,
      access,
      searchable,
      dropsVectors: isReindexed || isDisabled,
      isReindexed,
      readsFile: !isChanged,
      warnings,
    },
  };
}

function merge(metadata: Readonly<Record<string, string>>, patch: Readonly<Record<string, string | null>>) {
  const merged = new Map<string, string | null>(Object.entries({ ...metadata, ...patch }));
  return Object.fromEntries([...merged].filter((entry): entry is [string, string] => entry[1] !== null));
}

type Values = FieldChanges['before'];

/** Render an access policy as change values, with lists in the syntax of statements. */
function shownAccess({ access_list: list, ...others }: AccessPolicy): Values {
  const { users = [], groups = [] } = accessOf(list) ?? {};
  return { ...others, access_users: users.join(', ') || null, access_groups: groups.join(', ') || null };
}

/** Describe the change of a document: only differing fields, with null for a missing field. */
export function describeChange({ document, metadata, access, searchable }: PlannedEdit): FieldChanges {
  const before: Values = {};
  const after: Values = {};
  const compare = (prefix: string, old: Readonly<Values>, now: Readonly<Values>) => {
    for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
      const [was = null, is = null] = [old, now].map((values) => (Object.hasOwn(values, key) ? values[key] : null));
      if (was === is) continue;
      before[prefix + key] = was;
      after[prefix + key] = is;
    }
  };
  compare('metadata.', document.metadata, metadata);
  compare('', shownAccess(document.access), shownAccess(access));
  compare('', { searchable: document.searchable }, { searchable });
  return { before, after };
}
