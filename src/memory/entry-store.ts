import type { Caller } from '../access/caller.ts';
import type { AccessList } from '../documents/access-list.ts';
import type { DocumentFacts } from '../documents/content-store.ts';
import { visibleTo } from '../documents/visibility.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';

/** Entry of a source as of the last synchronisation. */
export interface KnownEntry {
  readonly id: string;
  readonly key: string;
  readonly version: string;
  readonly sizeBytes: number;
  /** True if the current synchronisation wrote it before a crash. */
  readonly isWritten: boolean;
}

/** Read all entries of a source, page by page. */
export async function* readEntries(
  sql: Sql,
  orgId: string,
  sourceId: string,
  jobId: string,
): AsyncGenerator<KnownEntry[]> {
  let after = '';
  for (;;) {
    const rows = await sql<KnownEntry[]>`
      SELECT id, key, version, size_bytes AS "sizeBytes", job_id = ${jobId} AS "isWritten" FROM source_entries
      WHERE org_id = ${orgId} AND source_id = ${sourceId} AND key > ${after} ORDER BY key LIMIT 20000`;
    yield rows;
    const last = rows.at(-1);
    if (last === undefined) return;
    after = last.key;
  }
}

export interface EntryContentRow {
  readonly id: string;
  readonly key: string;
  readonly sha256: Buffer;
  readonly documentId: string | null;
  /** Id of the synchronisation that last wrote it. */
  readonly jobId: string;
}

/** Find entries of a source by id. */
export async function findEntries(
  sql: Sql,
  orgId: string,
  ids: readonly string[],
): Promise<Map<string, EntryContentRow>> {
  const rows = await sql<EntryContentRow[]>`
    SELECT ${contentColumns(sql)} FROM source_entries
    WHERE org_id = ${orgId} AND id = ANY(${sql.array([...ids])}::text[])`;
  return new Map(rows.map((row) => [row.id, row]));
}

/** Find one of these entries by its content. */
export async function findByContent(
  sql: Sql,
  orgId: string,
  ids: readonly string[],
  sha256: Buffer,
): Promise<EntryContentRow | null> {
  const [row] = await sql<EntryContentRow[]>`
    SELECT ${contentColumns(sql)} FROM source_entries
    WHERE org_id = ${orgId} AND id = ANY(${sql.array([...ids])}::text[]) AND sha256 = ${sha256} ORDER BY key LIMIT 1`;
  return row ?? null;
}

function contentColumns(sql: Sql): SqlFragment {
  return sql`id, key, sha256, document_id AS "documentId", job_id AS "jobId"`;
}

export interface EntryRow {
  readonly id: string;
  readonly orgId: string;
  readonly sourceId: string;
  readonly key: string;
  readonly version: string;
  readonly sizeBytes: number;
  readonly sha256: Buffer;
  readonly documentId: string | null;
  readonly jobId: string;
}

export async function insertEntry(tx: Sql, entry: EntryRow): Promise<void> {
  await tx`
    INSERT INTO source_entries (id, org_id, source_id, key, version, size_bytes, sha256, document_id, job_id)
    VALUES (${entry.id}, ${entry.orgId}, ${entry.sourceId}, ${entry.key}, ${entry.version}, ${entry.sizeBytes},
            ${entry.sha256}, ${entry.documentId}, ${entry.jobId})`;
}

/** Update an entry with new content or a new name. */
export async function updateEntry(tx: Sql, entry: EntryRow): Promise<void> {
  await tx`
    UPDATE source_entries SET key = ${entry.key}, version = ${entry.version}, size_bytes = ${entry.sizeBytes},
           sha256 = ${entry.sha256}, document_id = ${entry.documentId}, job_id = ${entry.jobId}
    WHERE org_id = ${entry.orgId} AND id = ${entry.id}`;
}

/** Record a new version of an entry whose content is unchanged. */
export async function touchEntry(tx: Sql, orgId: string, id: string, version: string): Promise<void> {
  await tx`UPDATE source_entries SET version = ${version} WHERE org_id = ${orgId} AND id = ${id}`;
}

export async function deleteEntries(tx: Sql, orgId: string, ids: readonly string[]): Promise<void> {
  await tx`DELETE FROM source_entries WHERE org_id = ${orgId} AND id = ANY(${tx.array([...ids])}::text[])`;
}

/** Find all versions of these entries' documents. */
export async function findDocumentsOfEntries(tx: Sql, orgId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await tx`
    SELECT id FROM documents WHERE org_id = ${orgId} AND source_entry_id = ANY(${tx.array([...ids])}::text[])
      AND status <> 'deleting' ORDER BY id`;
  return rows.map((row) => row['id'] as string);
}

/** Find at most `limit` documents of a source, in all versions, that the caller may see. */
export async function findDocumentsOfSource(
  tx: Sql,
  caller: Caller,
  sourceId: string,
  limit: number,
): Promise<string[]> {
  const rows = await tx`
    SELECT id FROM documents WHERE org_id = ${caller.orgId} AND source_id = ${sourceId} AND ${visibleTo(tx, caller)}
    ORDER BY id LIMIT ${limit}`;
  return rows.map((row) => row['id'] as string);
}

/**
 * Detach the documents of a deleted source, which then count as uploads.
 *
 * @returns number of detached documents that the caller may see
 */
export async function detachDocuments(tx: Sql, caller: Caller, sourceId: string): Promise<number> {
  const rows = await tx`
    UPDATE documents SET source_id = NULL, source_entry_id = NULL
    WHERE org_id = ${caller.orgId} AND source_id = ${sourceId}
    RETURNING (${visibleTo(tx, caller)}) IS TRUE AS is_visible`;
  return rows.filter((row) => row['is_visible']).length;
}

/** Set the event time of a document whose content is unchanged. */
export async function setEventTime(tx: Sql, orgId: string, documentId: string, eventTime: Date | null): Promise<void> {
  await tx`
    UPDATE documents SET event_time = ${eventTime}, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${documentId} AND event_time IS DISTINCT FROM ${eventTime}::timestamptz`;
}

/** Set the readers of an entry's documents, or of all documents of a source, in all versions. */
export async function setAccess(
  tx: Sql,
  orgId: string,
  of: { readonly entryId: string } | { readonly sourceId: string },
  list: AccessList | null,
): Promise<void> {
  const value = tx`${list && tx.array([...list])}::text[]`;
  const isOf = 'entryId' in of ? tx`source_entry_id = ${of.entryId}` : tx`source_id = ${of.sourceId}`;
  await tx`
    UPDATE documents SET access_list = ${value}, updated_at = now()
    WHERE org_id = ${orgId} AND ${isOf} AND status <> 'deleting' AND access_list IS DISTINCT FROM ${value}`;
}

/**
 * Find users by lowercase email address, and groups by name or claim. Return user ids and group names, keyed by the
 * requested value.
 */
export async function selectReaders(
  sql: Sql,
  orgId: string,
  { emails, groups }: { readonly emails: readonly string[]; readonly groups: readonly string[] },
): Promise<{ users: Map<string, string>; groups: Map<string, string> }> {
  const users = await sql`
    SELECT email, id FROM users WHERE org_id = ${orgId} AND email = ANY(${sql.array([...emails])}::text[])`;
  const named = await sql`
    SELECT asked.name AS asked, groups.name FROM unnest(${sql.array([...new Set(groups)])}::text[]) AS asked (name)
    JOIN groups ON groups.org_id = ${orgId}
      AND (lower(groups.name) = lower(asked.name) OR groups.claim = asked.name OR groups.external_id = asked.name)`;
  return {
    users: new Map(users.map((row) => [row['email'] as string, row['id'] as string])),
    groups: new Map(named.map((row) => [row['asked'] as string, row['name'] as string])),
  };
}

/** Rename an entry's documents, in all versions, without reading or embedding them. */
export async function renameDocuments(
  tx: Sql,
  orgId: string,
  entryId: string,
  facts: Omit<DocumentFacts, 'eventTime'>,
): Promise<void> {
  await tx`
    UPDATE documents SET file_name = ${facts.fileName}, source_path = ${facts.sourcePath},
           metadata = metadata || ${tx.json(facts.metadata)}, updated_at = now()
    WHERE org_id = ${orgId} AND source_entry_id = ${entryId} AND status <> 'deleting'`;
}
