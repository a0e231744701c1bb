import type { Caller } from '../access/caller.ts';
import { isOrgAdminRole } from '../access/roles.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';

/** Department that every caller belongs to, as the `scope` of a document. */
export const COMMON_SCOPE = 'common';

/** Classifications of documents that no caller outside the organization may read. */
const INSIDE_CLASSIFICATIONS = ['restricted', 'confidential'];

/** Highest privacy level of a document (contract 2.7). */
const LEVEL_MAX = 10;

/** Fields of a caller that decide what it may read. */
export type Reader = Pick<Caller, 'authLevel' | 'role' | 'department' | 'scopes' | 'outside'>;

/** Fields of a document that decide who may read it. */
export interface ReadableFields {
  readonly privacy_level: number;
  readonly scope: string | null;
  readonly classification: string;
  readonly public_accessible: boolean;
}

/** Reason why a caller may not read a document. */
export type Hindrance = 'level' | 'department' | 'classification' | 'not_public';

/**
 * Rule of what a caller may read, as data. It is the only one: the condition of SQL and the check of one document are
 * both made of it, so that they cannot differ.
 */
interface ReadRule {
  readonly levelMax: number;
  /** Departments whose documents the caller may read, beside those of none; null for all departments. */
  readonly scopes: readonly string[] | null;
  readonly classificationsNot: readonly string[];
  readonly publicOnly: boolean;
}

function ruleOf(reader: Reader): ReadRule {
  const ownScopes = reader.department === null ? [COMMON_SCOPE] : [COMMON_SCOPE, reader.department];
  return {
    levelMax: reader.authLevel,
    scopes: readsEveryScope(reader) ? null : ownScopes,
    classificationsNot: reader.outside === undefined ? [] : INSIDE_CLASSIFICATIONS,
    publicOnly: reader.outside === 'public',
  };
}

/** Return true if the caller may read documents of every department, which holds for administrators only. */
export function readsEveryScope(reader: Reader): boolean {
  return isOrgAdminRole(reader.role) || reader.scopes.has('platform_admin');
}

/** Find the reason why a caller may not read a document with these fields; null if it may. */
export function hindranceOf(reader: Reader, document: ReadableFields): Hindrance | null {
  return findHindrance(ruleOf(reader), document);
}

function findHindrance(rule: ReadRule, document: ReadableFields): Hindrance | null {
  const { levelMax, scopes, classificationsNot, publicOnly } = rule;
  if (document.privacy_level > levelMax) return 'level';
  if (document.scope !== null && scopes !== null && !scopes.includes(document.scope)) return 'department';
  if (classificationsNot.includes(document.classification)) return 'classification';
  return publicOnly && !document.public_accessible ? 'not_public' : null;
}

/** Test of which documents a caller may read. */
export interface ReadTest {
  /** Text of `readKeyOf`. */
  readonly key: string;
  allows(document: ReadableFields): boolean;
}

/** Return a text that is equal for callers who may read the same documents of their organization, and for no others. */
export function readKeyOf(reader: Reader): string {
  return keyOf(ruleOf(reader));
}

function keyOf(rule: ReadRule): string {
  return JSON.stringify(rule);
}

/** Make the test of what a caller may read, for many documents. */
export function readTestOf(reader: Reader): ReadTest {
  const rule = ruleOf(reader);
  return { key: keyOf(rule), allows: (document) => findHindrance(rule, document) === null };
}

/** Return true if the caller may read documents of a department; null for those of none. */
export function readsScope(reader: Reader, scope: string | null): boolean {
  const { scopes } = ruleOf(reader);
  return scope === null || scopes === null || scopes.includes(scope);
}

/**
 * Condition on a row of `documents`: the caller may read it, even if it is being deleted. It is the rule of
 * `hindranceOf`.
 *
 * @param table name of the row in the query
 */
export function readableBy(sql: Sql, caller: Reader, table = 'documents'): SqlFragment {
  const row = sql(table);
  const { levelMax, scopes, classificationsNot, publicOnly } = ruleOf(caller);
  return sql`
    ${row}.privacy_level <= ${levelMax}
    ${scopes === null ? sql`` : sql`AND (${row}.scope IS NULL OR ${row}.scope = ANY(${sql.array([...scopes])}::text[]))`}
    ${classificationsNot.length === 0 ? sql`` : sql`AND ${row}.classification <> ALL(${sql.array([...classificationsNot])}::text[])`}
    ${publicOnly ? sql`AND ${row}.public_accessible` : sql``}`;
}

/**
 * Condition on a row of `documents`: the caller may read it and it is not being deleted. Every read of documents uses
 * it.
 */
export function visibleTo(sql: Sql, caller: Reader, table = 'documents'): SqlFragment {
  return sql`${sql(table)}.status <> 'deleting' AND ${readableBy(sql, caller, table)}`;
}

/** Return true if a caller may read every document of its organization. */
export function readsEverything(reader: Reader): boolean {
  const { levelMax, scopes, classificationsNot, publicOnly } = ruleOf(reader);
  return levelMax >= LEVEL_MAX && scopes === null && classificationsNot.length === 0 && !publicOnly;
}

/**
 * Expression of SQL that is true if a bucket holds a document that the caller may not read: the opposite of
 * `readableBy`, in parts that an index answers each. A document that is being deleted counts until it is gone, because
 * the index holds it until then.
 *
 * @param bucket ids, or columns of the query around it
 */
export function hidesFrom(
  sql: Sql,
  caller: Reader,
  bucket: { orgId: string | SqlFragment; id: string | SqlFragment },
): SqlFragment {
  const { levelMax, scopes, classificationsNot, publicOnly } = ruleOf(caller);
  const isInBucket = sql`documents.org_id = ${bucket.orgId} AND documents.bucket_id = ${bucket.id}`;
  const exists = (condition: SqlFragment) => sql`
    EXISTS (SELECT 1 FROM documents WHERE ${isInBucket} AND ${condition})`;
  // The highest level is the first entry of an index, whatever PostgreSQL expects of a level that it does not know yet. A
  // prepared statement with `privacy_level > $1` would be planned anew each time, which takes longer than to run it. So would
  // one without `scope IS NOT NULL`: that an index without nulls answers it is else known only for the values of a list.
  return sql`(
    coalesce((SELECT documents.privacy_level FROM documents WHERE ${isInBucket}
              ORDER BY documents.privacy_level DESC LIMIT 1) > ${levelMax}, false)
    ${scopes === null ? sql`` : sql`OR ${exists(sql`documents.scope IS NOT NULL AND documents.scope <> ALL(${sql.array([...scopes])}::text[])`)}`}
    ${classificationsNot.length === 0 ? sql`` : sql`OR ${exists(sql`documents.classification = ANY(${sql.array([...classificationsNot])}::text[])`)}`}
    ${publicOnly ? sql`OR ${exists(sql`NOT documents.public_accessible`)}` : sql``})`;
}

/**
 * Condition on a row of `jobs`: the caller may read its document, whose name and metadata the job contains, or could read
 * it until it was removed, and may see the source that it synchronises. Another job of a whole bucket, which contains
 * counts and costs of all its documents, needs that none of them is hidden, or was when it was removed.
 */
export function jobVisibleTo(sql: Sql, caller: Caller): SqlFragment {
  if (readsEverything(caller)) return sql`true`;
  return sql`(
    (jobs.document_id IS NULL
     OR EXISTS (SELECT 1 FROM documents WHERE documents.id = jobs.document_id AND ${readableBy(sql, caller)})
     OR ${removedReadableBy(sql, caller)})
    AND (jobs.document_id IS NOT NULL OR jobs.bucket_id IS NULL OR jobs.kind = 'sync'
         OR NOT (${hidesFrom(sql, caller, { orgId: sql`jobs.org_id`, id: sql`jobs.bucket_id` })}
                 OR ${hidRemoved(sql, caller)}))
    AND ${syncJobVisibleTo(sql, caller)})`;
}

/**
 * Condition on a row of `jobs`: its document was removed, and the caller could read it. It is false for a document that is
 * there, and for one that was removed without its access fields.
 */
function removedReadableBy(sql: Sql, caller: Caller): SqlFragment {
  return sql`EXISTS (
    SELECT 1 FROM jsonb_to_record(jobs.document_access)
      AS removed (privacy_level int, scope text, classification text, public_accessible boolean)
    WHERE jobs.document_access IS NOT NULL AND ${readableBy(sql, caller, 'removed')})`;
}

/** Condition on a row of `jobs`: it is of a whole bucket, from which a document was removed that the caller could not read. */
function hidRemoved(sql: Sql, caller: Caller): SqlFragment {
  return sql`EXISTS (
    SELECT 1 FROM jsonb_to_recordset(jobs.removed_access)
      AS removed (privacy_level int, scope text, classification text, public_accessible boolean)
    WHERE (${readableBy(sql, caller, 'removed')}) IS NOT TRUE)`;
}

/** Return true if the owner of a source plays no role for the caller: administrators, and keys that manage sources. */
function seesEveryOwner({ role, scopes }: Caller): boolean {
  return isOrgAdminRole(role) || scopes.has('platform_admin') || scopes.has('sources:manage');
}

/**
 * Condition on a row of `sources`: the caller may see it. The caller must be able to see its documents too, since its
 * counts and errors tell of them.
 */
export function sourceVisibleTo(sql: Sql, caller: Caller): SqlFragment {
  const { orgId, authLevel, userId } = caller;
  return sql`
    sources.org_id = ${orgId} AND sources.privacy_level <= ${authLevel}
    ${seesEveryOwner(caller) ? sql`` : sql`AND (sources.user_id IS NULL OR sources.user_id = ${userId})`}`;
}

/**
 * Condition on a row of `jobs`: it is no synchronisation of a source that is hidden from the caller. The job of a deleted
 * source is shown to those who see the sources of every owner.
 */
function syncJobVisibleTo(sql: Sql, caller: Caller): SqlFragment {
  const isVisible = sourceVisibleTo(sql, caller);
  const hasSource = (condition: SqlFragment) =>
    sql`EXISTS (SELECT 1 FROM sources WHERE sources.id = jobs.source_entry_id AND ${condition})`;
  return sql`
    (jobs.kind <> 'sync' OR ${
      seesEveryOwner(caller) ? sql`NOT ${hasSource(sql`(${isVisible}) IS NOT TRUE`)}` : hasSource(isVisible)
    })`;
}
