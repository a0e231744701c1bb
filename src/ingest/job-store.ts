import { storedMessage } from '../jobs/failure-message.ts';
import { isUnfinished } from '../jobs/state-store.ts';
import type { Sql } from '../platform/postgres.ts';
import type { UnsurePicture } from './extract/image-texts.ts';

/** Reason why a job ended without a result, for the document's owner. */
export type EndReason = { readonly failure: string } | { readonly cancellation: string };

/**
 * Update a document's status after one of its jobs ended without a result, in that job's transaction. It stays ready if
 * an earlier generation with vectors is live, and keeps its status while another job works on it. Otherwise it becomes
 * failed. Record a cancellation only if nothing will make the document's newest content searchable.
 */
export async function settleDocument(sql: Sql, orgId: string, documentId: string, reason: EndReason): Promise<void> {
  // Lock the row before reading it. If two jobs end at once, the second then sees the end of the first.
  const [row] = await sql`
    SELECT 1 FROM documents WHERE org_id = ${orgId} AND id = ${documentId} AND status <> 'deleting' FOR UPDATE`;
  if (!row) return;
  const isLive = sql`active_generation IS NOT NULL AND NOT keyword_only`;
  const isWorkedOn = sql`EXISTS (SELECT 1 FROM jobs WHERE jobs.document_id = documents.id AND ${isUnfinished(sql)})`;
  const message =
    'failure' in reason
      ? sql`${storedMessage(reason.failure)}`
      : sql`CASE WHEN ${isLive} AND NOT content_pending OR ${isWorkedOn} THEN error_message
                 ELSE ${reason.cancellation} END`;
  await sql`
    UPDATE documents
    SET status = CASE WHEN ${isLive} THEN 'ready' WHEN ${isWorkedOn} THEN status ELSE 'failed' END,
        error_message = ${message}, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${documentId}`;
}

/** Fields of a document to be ingested again, for its new job. */
export interface RequeuedDocument {
  readonly objectKey: string;
  readonly fileName: string;
  readonly sizeBytes: number;
  readonly sourcePath: string | null;
  readonly metadata: Record<string, string>;
}

/**
 * Mark a document as queued for another ingest unless searches find it. Return null if it is deleted or being deleted.
 * A document that only keyword search finds stays failed until it is embedded.
 */
export async function requeueDocument(sql: Sql, orgId: string, documentId: string): Promise<RequeuedDocument | null> {
  const [row] = await sql<RequeuedDocument[]>`
    UPDATE documents SET status = CASE WHEN status = 'failed' AND NOT keyword_only THEN 'queued' ELSE status END,
           updated_at = now()
    WHERE org_id = ${orgId} AND id = ${documentId} AND status <> 'deleting'
    RETURNING object_key AS "objectKey", file_name AS "fileName", size_bytes AS "sizeBytes",
              source_path AS "sourcePath", metadata`;
  return row ?? null;
}

/** Outcome of extracting a document, for its job's snapshot. Lists contain pages, from 1. */
export interface ExtractionRecord {
  readonly pages: number | null;
  readonly failedPages: readonly number[];
  readonly emptyPages: readonly number[];
  /** Pages whose text was recognised in pictures. */
  readonly recognisedPages: readonly number[];
  readonly skipped: readonly { readonly name: string; readonly category: string }[];
  readonly unsurePictures: readonly UnsurePicture[];
  /** Pages with undecodable text. */
  readonly unmappedPages?: readonly number[] | undefined;
}

const LISTED_MAX = 1_000;
const WARNINGS_MAX = 20;

/** Return a document's unread parts for its job's snapshot, or null if all were read. */
export function extractionSnapshot(found: ExtractionRecord): Record<string, unknown> | null {
  const lists = {
    failed_pages: found.failedPages,
    empty_pages: found.emptyPages,
    recognised_pages: found.recognisedPages,
    skipped: found.skipped,
  };
  if (Object.values(lists).every((list) => list.length === 0)) return null; // no text was recognised either
  const cut = Object.entries(lists).map(([name, list]) => [name, list.slice(0, LISTED_MAX)] as const);
  const counts = { failed_count: found.failedPages.length, empty_count: found.emptyPages.length };
  const extraction = { pages: found.pages, ...counts, ...Object.fromEntries(cut) };
  const warnings = [...unmappedWarning(found.unmappedPages ?? []), ...warningsOf(found.unsurePictures)];
  return { extraction, ...(warnings.length === 0 ? {} : { warnings }) };
}

function unmappedWarning(pages: readonly number[]): string[] {
  if (pages.length === 0) return [];
  const listed = pages.slice(0, WARNINGS_MAX).join(', ');
  const more = pages.length > WARNINGS_MAX ? ` and ${pages.length - WARNINGS_MAX} more` : '';
  const fault = 'cannot be mapped to characters, because the fonts of the PDF do not say which characters they are';
  return [`text of page ${listed}${more} ${fault}; upload a scan of it, or a PDF with text that can be copied`];
}

function warningsOf(pictures: readonly UnsurePicture[]): string[] {
  const warnings = pictures.slice(0, WARNINGS_MAX).map(({ page, part, confidence }) => {
    const place = part === null ? `page ${page}` : `${page === null ? 'the picture' : 'the attachment'} "${part}"`;
    return `the text of ${place} was recognised with a confidence of ${confidence} %; compare it with the original`;
  });
  const more = pictures.length - warnings.length;
  return more === 0
    ? warnings
    : [...warnings, `the text of ${more} more pictures was recognised with little confidence`];
}
