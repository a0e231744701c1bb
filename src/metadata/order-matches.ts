import type { Caller } from '../access/caller.ts';
import type { AccessInput } from '../documents/access-list.ts';
import type { BucketPolicy } from '../documents/schema.ts';
import { METADATA_LIMITS } from '../documents/user-metadata.ts';
import { COMMON_SCOPE } from '../documents/visibility.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { DocumentEdit } from './schema.ts';

/**
 * Build the condition that an edit would change a row of `documents`. Such matches come first, so that repeating an
 * edit with a limit eventually reaches all of them. Only `planEdit` decides about the change itself.
 */
export function pendingSql(sql: Sql, edit: DocumentEdit, caller: Caller, bucket: BucketPolicy): SqlFragment {
  const changes = changesOf(sql, edit, caller, bucket);
  const [first, ...rest] = changes;
  // An edit without values requests new vectors for every match.
  const changed = first === undefined ? sql`true` : rest.reduce((all, each) => sql`${all} OR ${each}`, first);
  return sql`(documents.status <> 'deleting' AND (${changed}) AND ${fitsSql(sql, edit)})`;
}

/** Build the condition that a row of `documents` is not already being deleted. */
export function notDeletingSql(sql: Sql): SqlFragment {
  return sql`(documents.status <> 'deleting')`;
}

function changesOf(sql: Sql, edit: DocumentEdit, caller: Caller, bucket: BucketPolicy): SqlFragment[] {
  const { scope, ...patch } = edit.metadata ?? {};
  const { set, removed } = splitPatch(patch);
  const changes: SqlFragment[] = [];
  if (Object.keys(set).length > 0) changes.push(sql`NOT documents.metadata @> ${sql.json(set)}`);
  if (removed.length > 0) changes.push(sql`documents.metadata ?| ${sql.array(removed)}::text[]`);
  if (edit.searchable !== undefined) changes.push(sql`documents.searchable <> ${edit.searchable}`);
  for (const name of ['classification', 'review_status'] as const) {
    const value = edit[name];
    if (value !== undefined) changes.push(sql`documents.${sql(name)} <> ${value}`);
  }
  const level = Math.min(edit.privacy_level ?? 0, caller.authLevel, bucket.max_privacy_level);
  if (edit.privacy_level !== undefined) changes.push(sql`documents.privacy_level <> ${level}`);
  if (edit.public_accessible === false) changes.push(sql`documents.public_accessible`);
  if (edit.public_accessible === true && bucket.allow_public) {
    const after = edit.privacy_level === undefined ? sql`documents.privacy_level` : sql`${level}::integer`;
    changes.push(sql`(NOT documents.public_accessible AND ${after} <= ${bucket.public_max_privacy_level})`);
  }
  if (edit.access !== undefined) changes.push(...changesOfAccess(sql, edit.access));
  const isKnown = scope === COMMON_SCOPE || (bucket.departments?.includes(scope ?? '') ?? true);
  if (scope !== undefined && (scope === null || isKnown)) {
    changes.push(sql`documents.scope IS DISTINCT FROM ${scope}::text`);
  }
  // All requested values are clamped away.
  return changes.length === 0 && hasValues(edit) ? [sql`false`] : changes;
}

function changesOfAccess(sql: Sql, access: AccessInput): SqlFragment[] {
  if (access === null) return [sql`documents.access_list IS NOT NULL`];
  const parts = [
    ['user:', access.users],
    ['group:', access.groups],
  ] as const;
  return parts.flatMap(([prefix, names]) => {
    const text = names && [...names].sort().join(', ');
    return names === undefined
      ? []
      : [sql`access_names(documents.access_list, ${prefix}) IS DISTINCT FROM ${text || null}`];
  });
}

/** Build the condition that the merged metadata stays within its limits. Its size in bytes is estimated. */
function fitsSql(sql: Sql, edit: DocumentEdit): SqlFragment {
  const { scope: _scope, ...patch } = edit.metadata ?? {};
  const { set, removed } = splitPatch(patch);
  if (Object.keys(set).length === 0) return sql`true`;
  const merged = sql`((documents.metadata || ${sql.json(set)}) - ${sql.array(removed)}::text[])`;
  const count = sql`(SELECT count(*) FROM jsonb_object_keys${merged})`;
  // PostgreSQL's text form has a space after each colon and comma.
  return sql`(${count} <= ${METADATA_LIMITS.keys}
    AND octet_length(${merged}::text) - 2 * ${count} < ${METADATA_LIMITS.jsonBytes})`;
}

function splitPatch(patch: Readonly<Record<string, string | null>>) {
  const entries = Object.entries(patch);
  const set = entries.filter((entry): entry is [string, string] => entry[1] !== null);
  return { set: Object.fromEntries(set), removed: entries.filter(([, value]) => value === null).map(([key]) => key) };
}

function hasValues({ metadata, ...fields }: DocumentEdit): boolean {
  return Object.keys(metadata ?? {}).length > 0 || Object.values(fields).some((value) => value !== undefined);
}
