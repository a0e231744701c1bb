import type { Readable } from 'node:stream';
import { recordAudit } from '../access/audit.ts';
import { type Caller, requireScope } from '../access/caller.ts';
import { findDocumentsOfFile } from '../documents/deletion-store.ts';
import { removeDocumentsOf } from '../documents/documents.ts';
import { requireStorage } from '../documents/storage-limit.ts';
import { AppError, invalidRequest, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { mayHaveCommitted, type Sql } from '../platform/postgres.ts';
import type { PlanSettings } from '../usage/quotas.ts';
import {
  BATCH_INPUT_BYTES_MAX,
  type FileUpload,
  type FileView,
  type ListFilesQuery,
  MONTH_SECONDS,
} from './file-schema.ts';
import { deleteFileRow, type FileRow, insertFile, selectFile, selectFiles, selectNeededKeys } from './files-store.ts';
import { pageOf, unixSeconds } from './list-page.ts';

/** Dependencies of files. */
export interface FileContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly logger: Logger;
  readonly plans: PlanSettings;
}

/** Local file to be stored. */
export interface LocalFile {
  readonly path: string;
  readonly fileName: string;
  readonly sizeBytes: number;
}

const NAME_CHARS_MAX = 255;

/**
 * Store an upload: first the bytes, then the row. A crash in between leaves an object without a row, which the sweep
 * deletes.
 * @throws AppError `body_too_large` (413), `invalid_request` (400), `storage_quota_exceeded` (402), `storage_full`
 *   (503)
 */
export async function createFile(
  { sql, objects, logger, plans }: FileContext,
  caller: Caller,
  local: LocalFile,
  upload: FileUpload,
): Promise<FileView> {
  const { purpose } = upload;
  if (purpose === 'batch' && local.sizeBytes > BATCH_INPUT_BYTES_MAX) {
    const message = `file: has ${local.sizeBytes} bytes; the input of a batch takes up to ${BATCH_INPUT_BYTES_MAX}`;
    throw new AppError({ code: 'body_too_large', status: 413, message, param: 'file' });
  }
  if (local.sizeBytes === 0) throw invalidRequest('file: is empty', 'file');
  const id = newId('file');
  const objectKey = fileKey(caller.orgId, id);
  const lifetimeSeconds = upload['expires_after[seconds]'] ?? (purpose === 'batch' ? MONTH_SECONDS : null);
  const fileName = local.fileName.toWellFormed().replaceAll('\0', '').slice(0, NAME_CHARS_MAX);
  const stored = await objects.adopt(local.path, objectKey);
  try {
    const sha256 = Buffer.from(stored.sha256, 'hex');
    const facts = { id, orgId: caller.orgId, purpose, fileName, sizeBytes: local.sizeBytes, objectKey, sha256 };
    const row = await sql.begin(async (tx) => {
      await requireStorage(tx, caller, local.sizeBytes, plans[caller.plan]?.storageBytes ?? null);
      return insertFile(tx, { ...facts, lifetimeSeconds });
    });
    return viewOf(row);
  } catch (error) {
    if (!mayHaveCommitted(error)) {
      await objects
        .delete(objectKey, { unreferenced: true })
        .catch((cause) => logger.warn({ err: cause, key: objectKey }, 'a refused file is left to the sweep'));
    }
    throw error;
  }
}

/** @throws AppError `file_not_found` (404) */
export async function getFile(sql: Sql, caller: Caller, id: string): Promise<FileView> {
  return viewOf(await findFile(sql, caller, id));
}

export async function listFiles(sql: Sql, caller: Caller, query: ListFilesQuery) {
  return pageOf((await selectFiles(sql, caller, query)).map(viewOf), query.limit);
}

/** @throws AppError `file_not_found` (404) */
export async function openFile(
  { sql, objects }: Pick<FileContext, 'sql' | 'objects'>,
  caller: Caller,
  id: string,
  signal: AbortSignal,
): Promise<{ readonly fileName: string; readonly sizeBytes: number; readonly bytes: Readable }> {
  const { fileName, sizeBytes, objectKey } = await findFile(sql, caller, id);
  return { fileName, sizeBytes, bytes: objects.stream(objectKey, { signal }) };
}

/**
 * Delete a file, and remove it from all vector stores by deleting those of its documents that the caller may see. An
 * unfinished batch keeps the bytes of its input until it ends.
 * @throws AppError `file_not_found` (404), `scope_missing` (403) for a file with documents
 */
export async function deleteFile(context: FileContext, caller: Caller, id: string) {
  const key = await context.sql.begin(async (tx) => {
    const deleted = await deleteFileRow(tx, caller.orgId, id);
    if (deleted === null) throw notFound('file', id);
    const documents = await findDocumentsOfFile(tx, caller, deleted);
    if (documents.length > 0) requireScope(caller, 'documents:write');
    const documentIds = documents.filter(({ isVisible }) => isVisible).map(({ id }) => id);
    await removeDocumentsOf(tx, caller.orgId, documentIds);
    await recordAudit(tx, {
      orgId: caller.orgId,
      actor: caller.actor,
      action: 'file.delete',
      target: id,
      detail: { deleted: documentIds },
    });
    return deleted;
  });
  await dropUnneeded(context, [key]);
  return { id, object: 'file' as const, deleted: true as const };
}

/** Return the object key of a file. */
export function fileKey(orgId: string, fileId: string): string {
  return `files/${orgId}/${fileId}`;
}

/** Delete the objects that no file, document or unfinished batch needs. The sweep retries failures. */
export async function dropUnneeded({ sql, objects, logger }: FileContext, keys: readonly string[]): Promise<number> {
  const needed = await selectNeededKeys(sql, keys);
  const dropped = keys.filter((key) => !needed.has(key));
  for (const key of dropped) {
    await objects
      .delete(key)
      .catch((error) => logger.warn({ err: error, key }, 'the bytes of a deleted file are left to the sweep'));
  }
  return dropped.length;
}

async function findFile(sql: Sql, caller: Caller, id: string): Promise<FileRow> {
  const file = await selectFile(sql, caller, id);
  if (file === null) throw notFound('file', id);
  return file;
}

function viewOf(file: FileRow): FileView {
  return {
    id: file.id,
    object: 'file',
    bytes: file.sizeBytes,
    created_at: unixSeconds(file.createdAt),
    expires_at: file.expiresAt && unixSeconds(file.expiresAt),
    filename: file.fileName,
    purpose: file.purpose,
    status: 'processed',
    status_details: null,
  };
}
