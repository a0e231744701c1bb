import { setTimeout as delay } from 'node:timers/promises';
import type { PathDocument } from '../documents/content-store.ts';
import { UploadRequest } from '../ingest/schema.ts';
import { type FolderPlace, resolveFolder } from '../memory/readers/folder-reader.ts';
import { FolderWatch } from '../memory/readers/folder-watch.ts';
import { SourceFault } from '../memory/readers/source-reader.ts';
import { AppError, conflict } from '../platform/errors.ts';
import { compareFolder, type FolderDifference, type SyncedFolder } from './compare-folder.ts';
import { note } from './output.ts';
import type { Session } from './session.ts';
import { uploadCollection } from './upload-collection.ts';

/** Interval for comparing a watched folder even without a reported change. */
const CHECK_MS = 60_000;
/** Maximum documents to delete in one call. */
const DELETED_MAX = 500;

export interface SyncOptions {
  /** Delete the documents whose file is gone. */
  readonly delete: boolean;
  /** Delete all documents if the folder is empty, instead of refusing to. */
  readonly allowEmpty: boolean;
  readonly dryRun: boolean;
  /** Wait until new content is searchable. */
  readonly wait: boolean;
  /** Ask the user before deleting documents. Throws if refused. */
  readonly confirmDeletion: (difference: FolderDifference) => Promise<void>;
}

/** File or document that a synchronisation changes, or would change. */
export interface SyncedFile {
  readonly source_path: string;
  readonly action: 'add' | 'replace' | 'delete' | 'keep';
  readonly document_id: string | null;
  readonly status: 'planned' | 'ready' | 'queued' | 'failed' | 'deleted' | 'file is gone' | 'not readable';
  readonly error: { readonly category: string; readonly message: string } | null;
}

export interface SyncReport {
  readonly object: 'list';
  readonly bucket_id: string;
  readonly dry_run: boolean;
  /** All files except unchanged ones. */
  readonly data: readonly SyncedFile[];
  readonly counts: {
    readonly added: number;
    readonly replaced: number;
    readonly deleted: number;
    readonly unchanged: number;
    readonly failed: number;
    /** Number of documents that stay although their file is gone. */
    readonly gone: number;
  };
}

/** Resolve a folder to synchronise. @throws AppError `file_not_found` (404), `file_unreadable` (403) */
export function resolveSyncedFolder(directory: string, dataDir: string): Promise<FolderPlace> {
  return resolveFolder({ root: directory, path: '.', dataDir }).catch((error: unknown) => {
    throw error instanceof SourceFault
      ? new AppError({
          code: 'file_not_found',
          status: 404,
          message: error.message.replace('folder .', `folder ${directory}`).replace(/^\. /, `${directory} `),
        })
      : error;
  });
}

/**
 * Synchronise a bucket with a folder: add new files, update documents of changed files, and on request delete documents
 * whose file is gone.
 *
 * @throws AppError `folder_empty` (409) if an empty folder would delete all documents, `file_unreadable` (403)
 */
export async function syncFolder(
  session: Session,
  folder: SyncedFolder,
  options: SyncOptions,
  signal: AbortSignal,
): Promise<SyncReport> {
  const difference = await compareFolder(session, folder, signal).catch((error: unknown) => {
    throw error instanceof SourceFault
      ? new AppError({ code: 'file_unreadable', status: 403, message: error.message })
      : error;
  });
  const { vanished } = difference;
  if (options.delete && !options.allowEmpty) refuseEmptied(folder, difference);
  if (options.dryRun) return reportOf(folder, difference, planOf(difference, options), true);
  if (options.delete && vanished.length > 0) await options.confirmDeletion(difference);
  const uploaded = await upload(session, folder, difference, options, signal);
  const deleted = options.delete ? await deleteAll(session, folder, vanished, signal) : [];
  return reportOf(folder, difference, [...uploaded, ...deleted], false);
}

/**
 * Refuse to delete all documents because the folder is empty: its disk may not be mounted.
 *
 * @throws AppError `folder_empty` (409)
 */
function refuseEmptied({ place }: SyncedFolder, { files, vanished }: FolderDifference): void {
  if (files > 0 || vanished.length === 0) return;
  const documents = vanished.length === 1 ? 'the only document' : `all ${vanished.length} documents`;
  throw conflict(
    `${place.base} has no files to synchronise, and --delete would delete ${documents}; nothing was changed. ` +
      'Check that the folder is the right one and is mounted, and what --include and --exclude leave out. ' +
      'If it is empty on purpose, add --allow-empty.',
    'folder_empty',
  );
}

/**
 * Synchronise a folder after each change, until the signal aborts.
 * @param onReport called after each synchronisation
 */
export async function keepInSync(
  place: FolderPlace,
  sync: () => Promise<SyncReport>,
  onReport: (report: SyncReport) => void,
  signal: AbortSignal,
): Promise<never> {
  let isChanged = true;
  let wake = () => {};
  const watch = await FolderWatch.open(
    place,
    () => {
      isChanged = true;
      wake();
    },
    signal,
  );
  try {
    for (;;) {
      signal.throwIfAborted();
      isChanged = false;
      onReport(await sync());
      if (isChanged) continue;
      const timer = new AbortController();
      const changed = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const ended = AbortSignal.any([signal, timer.signal]);
      await Promise.race([changed, delay(CHECK_MS, undefined, { signal: ended }).catch(() => undefined)]);
      timer.abort();
    }
  } finally {
    watch.close();
  }
}

function planOf({ added, changed, vanished }: FolderDifference, options: SyncOptions): SyncedFile[] {
  const planned = { document_id: null, status: 'planned', error: null } as const;
  return [
    ...added.map(({ sourcePath }) => ({ ...planned, source_path: sourcePath, action: 'add' as const })),
    ...changed.map(({ sourcePath }) => ({ ...planned, source_path: sourcePath, action: 'replace' as const })),
    ...(options.delete ? vanished : []).map(({ id, sourcePath }) => ({
      ...planned,
      source_path: sourcePath,
      action: 'delete' as const,
      document_id: id,
    })),
  ];
}

async function upload(
  session: Session,
  { bucketId }: SyncedFolder,
  { added, changed }: FolderDifference,
  { wait }: SyncOptions,
  signal: AbortSignal,
): Promise<SyncedFile[]> {
  if (added.length + changed.length === 0) return [];
  const request = UploadRequest.parse({ on_duplicate: 'replace', source_path: '-' });
  const collection = { files: [...added, ...changed], skipped: [], unreadable: [] };
  const options = { bucket: bucketId, request, wait, signal };
  const report = await uploadCollection(session, collection, options);
  const replaced = new Set(changed.map(({ sourcePath }) => sourcePath));
  return report.data.map(({ source_path, id, status, error }) => ({
    source_path,
    action: replaced.has(source_path) ? 'replace' : 'add',
    document_id: id,
    status: status === 'linked' ? 'ready' : status,
    error,
  }));
}

async function deleteAll(
  session: Session,
  { bucketId }: SyncedFolder,
  vanished: readonly PathDocument[],
  signal: AbortSignal,
): Promise<SyncedFile[]> {
  for (let at = 0; at < vanished.length; at += DELETED_MAX) {
    signal.throwIfAborted();
    const documents = vanished.slice(at, at + DELETED_MAX).map(({ id }) => ({ bucket_id: bucketId, id }));
    // Someone else may have deleted a document meanwhile.
    await session.call('documents.remove', { documents, ignores_missing: true });
  }
  return vanished.map(({ id, sourcePath }) => ({
    source_path: sourcePath,
    action: 'delete',
    document_id: id,
    status: 'deleted',
    error: null,
  }));
}

function reportOf(
  { bucketId }: SyncedFolder,
  { vanished, unchanged, failedBefore, faults }: FolderDifference,
  done: readonly SyncedFile[],
  isDry: boolean,
): SyncReport {
  const count = (action: SyncedFile['action']) =>
    done.filter((file) => file.action === action && file.status !== 'failed').length;
  const deleted = new Set(done.filter(({ action }) => action === 'delete').map(({ document_id: id }) => id));
  const gone = vanished.filter(({ id }) => !deleted.has(id));
  const data: SyncedFile[] = [
    ...done,
    ...gone.map(({ id, sourcePath }) => keptFile(sourcePath, id, 'file is gone', null)),
    ...faults.map(({ key, fault }) =>
      keptFile(key, null, 'not readable', { category: 'file_unreadable', message: fault }),
    ),
  ];
  if (failedBefore > 0) {
    const files = failedBefore === 1 ? '1 unchanged file' : `${failedBefore} unchanged files`;
    note(`${files} could not be read before; see "documents list --status failed"`);
  }
  return {
    object: 'list',
    bucket_id: bucketId,
    dry_run: isDry,
    data: data.sort((a, b) => (a.source_path < b.source_path ? -1 : 1)),
    counts: {
      added: count('add'),
      replaced: count('replace'),
      deleted: count('delete'),
      unchanged,
      gone: gone.length,
      failed: done.filter(({ status }) => status === 'failed').length + faults.length,
    },
  };
}

function keptFile(
  sourcePath: string,
  id: string | null,
  status: SyncedFile['status'],
  error: SyncedFile['error'],
): SyncedFile {
  return { source_path: sourcePath, action: 'keep', document_id: id, status, error };
}

/** Render the result of a synchronisation on one line. */
export function summaryOf({ counts, dry_run: isDry }: SyncReport): string {
  const { added, replaced, deleted, unchanged, failed, gone } = counts;
  const line = `${added} added, ${replaced} replaced, ${deleted} deleted, ${unchanged} unchanged, ${failed} failed`;
  const what = gone === 1 ? 'the file of 1 document is' : `the files of ${gone} documents are`;
  const hint = gone === 0 ? '' : `; ${what} gone; to delete such documents, add --delete`;
  return (isDry ? `dry run: ${line}` : line) + hint;
}
