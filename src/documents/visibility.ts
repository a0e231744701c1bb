import type { Caller, Scope } from '../access/caller.ts';
import { isOrgAdminRole } from '../access/roles.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { type AccessList, accessEntriesOf } from './access-list.ts';

/** `scope` of a document that is open to every department. */
export const COMMON_SCOPE = 'common';

/** Classifications of documents that no caller outside the organization may read. */
const INSIDE_CLASSIFICATIONS = ['restricted', 'confidential'];

/**
 * Scopes that alone or together don't allow a key to read documents: it embeds, sends, or administers callers. Every
 * key has at least one scope.
 */
const SCOPES_WITHOUT_READING: ReadonlySet<Scope> = new Set([
  'embed',
  'channels:manage',
  'channels:send',
  'webhooks:manage',
  'routing:manage',
  'keys:manage',
  'users:manage',
  'groups:manage',
]);

/** Level of a caller who may not read any document. */
const NO_LEVEL = 0;

/** Highest privacy level of a document (contract 2.7). */
const LEVEL_MAX = 10;

/** Caller fields that determine which documents it may read. */
export type Reader = Pick<
  Caller,
  'authLevel' | 'role' | 'department' | 'scopes' | 'outside' | 'limits' | 'userId' | 'groups'
>;

/** Document fields that determine who may read it. */
export interface ReadableFields {
  readonly privacy_level: number;
  readonly scope: string | null;
  readonly classification: string;
  readonly public_accessible: boolean;
  readonly access_list: AccessList | null;
}

/** Reason why a caller may not read a document. */
const HINDRANCES = ['level', 'department', 'classification', 'not_public', 'not_listed'] as const;
export type Hindrance = (typeof HINDRANCES)[number];

/**
 * Rule for the documents that a caller may read, as data. Both the SQL condition and the check of a single document
 * derive from it, so they can't diverge.
 */
interface ReadRule {
  readonly levelMax: number;
  /** Readable departments, in addition to documents without one; null for all departments. */
  readonly scopes: readonly string[] | null;
  readonly classificationsNot: readonly string[];
  readonly publicOnly: boolean;
  /** Access list entries that match the caller, in order; null if lists don't limit the caller. */
  readonly listedAs: ReadonlySet<string> | null;
}

function ruleOf(reader: Reader): ReadRule {
  const ownScopes = reader.department === null ? [COMMON_SCOPE] : [COMMON_SCOPE, reader.department];
  return {
    levelMax: readsDocuments(reader) ? reader.authLevel : NO_LEVEL,
    scopes: readsEveryScope(reader) ? null : ownScopes,
    classificationsNot: reader.outside === undefined ? [] : INSIDE_CLASSIFICATIONS,
    publicOnly: reader.outside === 'public',
    listedAs: readsEveryScope(reader) ? null : new Set(accessEntriesOf(reader)),
  };
}

function readsDocuments({ scopes }: Reader): boolean {
  return scopes.size === 0 || [...scopes].some((scope) => !SCOPES_WITHOUT_READING.has(scope));
}

/** Return true if the caller may read documents of every department and access list, as only administrators may. */
export function readsEveryScope(reader: Pick<Reader, 'role' | 'scopes'>): boolean {
  return isOrgAdminRole(reader.role) || reader.scopes.has('platform_admin');
}

/** Return the first reason why a caller may not read a document with these fields, or null. */
export function hindranceOf(reader: Reader, document: ReadableFields): Hindrance | null {
  return findHindrance(ruleOf(reader), document);
}

/** Return all reasons why a caller may not read a document with these fields. */
export function hindrancesOf(reader: Reader, document: ReadableFields): Hindrance[] {
  const rule = ruleOf(reader);
  return HINDRANCES.filter((hindrance) => HINDERS[hindrance](rule, document));
}

const HINDERS: Record<Hindrance, (rule: ReadRule, document: ReadableFields) => boolean> = {
  level: ({ levelMax }, document) => document.privacy_level > levelMax,
  department: ({ scopes }, { scope }) => scope !== null && scopes !== null && !scopes.includes(scope),
  classification: ({ classificationsNot }, document) => classificationsNot.includes(document.classification),
  not_public: ({ publicOnly }, document) => publicOnly && !document.public_accessible,
  not_listed: ({ listedAs }, document) => !isListedAs(listedAs, document.access_list),
};

function findHindrance(rule: ReadRule, document: ReadableFields): Hindrance | null {
  return HINDRANCES.find((hindrance) => HINDERS[hindrance](rule, document)) ?? null;
}

/** @param listedAs as in `ReadRule` */
function isListedAs(listedAs: ReadRule['listedAs'], list: AccessList | null): boolean {
  return listedAs === null || list === null || list.some((entry) => listedAs.has(entry));
}

/** Return true if an access list lets the caller read a document. Null means no list. */
export function isListed(reader: Reader, list: AccessList | null): boolean {
  return isListedAs(ruleOf(reader).listedAs, list);
}

/** Predicate for the documents that a caller may read. */
export interface ReadTest {
  /** Key that is equal for predicates that allow the same documents. */
  readonly key: string;
  allows(document: ReadableFields): boolean;
}

/** Return a key that is equal exactly for callers who may read the same documents of their organization. */
export function readKeyOf(reader: Reader): string {
  return keyOf(ruleOf(reader));
}

function keyOf({ listedAs, ...others }: ReadRule): string {
  return JSON.stringify({ ...others, listedAs: listedAs && [...listedAs] });
}

/**
 * Build the predicate for the documents that a caller may read.
 *
 * @param isUsed returns true for entries in access lists; others don't count, so that more callers share a predicate
 */
export function readTestOf(reader: Reader, isUsed: (entry: string) => boolean): ReadTest {
  const { listedAs, ...others } = ruleOf(reader);
  const rule = { ...others, listedAs: listedAs && new Set([...listedAs].filter(isUsed)) };
  return { key: keyOf(rule), allows: (document) => findHindrance(rule, document) === null };
}

/** Return true if the caller may read documents of a department. Null means no department. */
export function readsScope(reader: Reader, scope: string | null): boolean {
  const { scopes } = ruleOf(reader);
  return scope === null || scopes === null || scopes.includes(scope);
}

/**
 * Build the condition that the caller may read a row of `documents`, even while it is being deleted, by the rule of
 * `hindranceOf`.
 *
 * @param table name of the row in the query
 */
export function readableBy(sql: Sql, caller: Reader, table = 'documents'): SqlFragment {
  const row = sql(table);
  const { levelMax, scopes, classificationsNot, publicOnly, listedAs } = ruleOf(caller);
  return sql`
    ${row}.privacy_level <= ${levelMax}
    ${scopes === null ? sql`` : sql`AND (${row}.scope IS NULL OR ${row}.scope = ANY(${sql.array([...scopes])}::text[]))`}
    ${classificationsNot.length === 0 ? sql`` : sql`AND ${row}.classification <> ALL(${sql.array([...classificationsNot])}::text[])`}
    ${publicOnly ? sql`AND ${row}.public_accessible` : sql``}
    ${listedAs === null ? sql`` : sql`AND (${row}.access_list IS NULL OR ${row}.access_list && ${sql.array([...listedAs])}::text[])`}`;
}

/** Build the condition for every read of documents: the caller may read the row, and it is not being deleted. */
export function visibleTo(sql: Sql, caller: Reader, table = 'documents'): SqlFragment {
  const row = sql(table);
  return sql`
    ${row}.status <> 'deleting' AND ${inAllowedBucket(sql, caller, sql`${row}.bucket_id`)} AND ${readableBy(sql, caller, table)}`;
}

/** Build the condition that the limits of a caller's key allow the row's bucket. */
function inAllowedBucket(sql: Sql, { limits }: Pick<Reader, 'limits'>, bucketId: SqlFragment): SqlFragment {
  return limits?.buckets === undefined ? sql`true` : sql`${bucketId} = ANY(${sql.array([...limits.buckets])}::text[])`;
}

/** Return true if a caller may read every document of its organization. */
export function readsEverything(reader: Reader): boolean {
  const { levelMax, scopes, classificationsNot, publicOnly, listedAs } = ruleOf(reader);
  return (
    reader.limits?.buckets === undefined &&
    levelMax >= LEVEL_MAX &&
    scopes === null &&
    classificationsNot.length === 0 &&
    !publicOnly &&
    listedAs === null
  );
}

/**
 * Build an SQL expression that is true if a bucket has a document that the caller may not read. It is the negation of
 * `readableBy`, in parts that an index can answer. A document that is being deleted counts until it is gone, since the
 * index contains it until then.
 *
 * @param bucket ids, or columns of the surrounding query
 */
export function hidesFrom(
  sql: Sql,
  caller: Reader,
  bucket: { orgId: string | SqlFragment; id: string | SqlFragment },
): SqlFragment {
  const { levelMax, scopes, classificationsNot, publicOnly, listedAs } = ruleOf(caller);
  const isInBucket = sql`documents.org_id = ${bucket.orgId} AND documents.bucket_id = ${bucket.id}`;
  const exists = (condition: SqlFragment) => sql`
    EXISTS (SELECT 1 FROM documents WHERE ${isInBucket} AND ${condition})`;
  // The highest level is the first entry of an index, whatever level PostgreSQL expects. A prepared statement with
  // `privacy_level > $1` would be replanned each time, which takes longer than running it. So would one without `scope
  // IS NOT NULL`, since PostgreSQL otherwise uses an index without nulls only for the values of a list.
  return sql`(
    coalesce((SELECT documents.privacy_level FROM documents WHERE ${isInBucket}
              ORDER BY documents.privacy_level DESC LIMIT 1) > ${levelMax}, false)
    ${scopes === null ? sql`` : sql`OR ${exists(sql`documents.scope IS NOT NULL AND documents.scope <> ALL(${sql.array([...scopes])}::text[])`)}`}
    ${classificationsNot.length === 0 ? sql`` : sql`OR ${exists(sql`documents.classification = ANY(${sql.array([...classificationsNot])}::text[])`)}`}
    ${publicOnly ? sql`OR ${exists(sql`NOT documents.public_accessible`)}` : sql``}
    ${listedAs === null ? sql`` : sql`OR bucket_hides_list(${bucket.orgId}, ${bucket.id}, ${sql.array([...listedAs])}::text[])`})`;
}

/**
 * Build the condition on a row of `jobs` that the caller may read its document, or could until its removal, since the
 * job contains the document's name and metadata. For a synchronisation, the caller must also see the source. Any other
 * job of a whole bucket contains counts and costs of all documents, so none of them may be hidden, now or at its
 * removal.
 */
export function jobVisibleTo(sql: Sql, caller: Caller): SqlFragment {
  if (readsEverything(caller)) return sql`true`;
  return sql`(
    (jobs.document_id IS NULL
     OR EXISTS (SELECT 1 FROM documents WHERE documents.id = jobs.document_id AND ${readableBy(sql, caller)})
     OR ${removedReadableBy(sql, caller)})
    AND (jobs.bucket_id IS NULL OR jobs.kind IN ('bulk', 'batch') OR ${inAllowedBucket(sql, caller, sql`jobs.bucket_id`)})
    AND (jobs.document_id IS NOT NULL OR jobs.bucket_id IS NULL OR jobs.kind = 'sync'
         OR NOT (${hidesFrom(sql, caller, { orgId: sql`jobs.org_id`, id: sql`jobs.bucket_id` })}
                 OR ${hidRemoved(sql, caller)}))
    AND ${syncJobVisibleTo(sql, caller)})`;
}

/**
 * Build the condition that the document of a row of `jobs` was removed and the caller could read it. It is false for an
 * existing document, and for one removed without its access fields.
 */
function removedReadableBy(sql: Sql, caller: Caller): SqlFragment {
  return sql`EXISTS (
    SELECT 1 FROM jsonb_to_record(jobs.document_access)
      AS removed (privacy_level int, scope text, classification text, public_accessible boolean, access_list text[])
    WHERE jobs.document_access IS NOT NULL AND ${readableBy(sql, caller, 'removed')})`;
}

/** Build the condition that a job's bucket lost a document that the caller could not read. */
function hidRemoved(sql: Sql, caller: Caller): SqlFragment {
  return sql`EXISTS (
    SELECT 1 FROM jsonb_to_recordset(jobs.removed_access)
      AS removed (privacy_level int, scope text, classification text, public_accessible boolean, access_list text[])
    WHERE (${readableBy(sql, caller, 'removed')}) IS NOT TRUE)`;
}

/** Return true if the caller sees the sources of every owner, as administrators do, and keys that manage sources. */
function seesEveryOwner({ role, scopes }: Caller): boolean {
  return isOrgAdminRole(role) || scopes.has('platform_admin') || scopes.has('sources:manage');
}

/**
 * Build the condition that the caller may see a row of `sources`. The caller must also be able to see its documents,
 * since its counts and errors reveal facts about them.
 */
export function sourceVisibleTo(sql: Sql, caller: Caller): SqlFragment {
  const { orgId, authLevel, userId } = caller;
  const listed = sql.array([...(ruleOf(caller).listedAs ?? [])]);
  return sql`
    sources.org_id = ${orgId} AND sources.privacy_level <= ${authLevel}
    AND ${inAllowedBucket(sql, caller, sql`sources.bucket_id`)}
    ${
      seesEveryOwner(caller)
        ? sql``
        : sql`AND (sources.user_id IS NULL OR sources.user_id = ${userId})
              AND (sources.access_list IS NULL OR sources.access_list && ${listed}::text[])`
    }`;
}

/**
 * Build the condition that a row of `jobs` doesn't synchronise a hidden source. The job of a deleted source is visible
 * to those who see the sources of every owner.
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
