import type { UploadRequest } from '../ingest/schema.ts';
import { AppError } from '../platform/errors.ts';
import type { FileCollection } from './collect-files.ts';
import { note } from './output.ts';
import { type OwnWorker, ownWorker } from './own-worker.ts';
import { openProgress, type Progress } from './progress.ts';
import { fileError } from './read-lines.ts';
import type { Session } from './session.ts';
import { type FileOutcome, failedFile, uploadFiles, waitForJobs } from './upload-files.ts';

export interface UploadReport {
  readonly object: 'list';
  readonly bucket_id: string;
  readonly data: readonly FileOutcome[];
  readonly counts: Readonly<Record<FileOutcome['status'], number>>;
  readonly skipped: FileCollection['skipped'];
}

/**
 * Upload the collected files. With `wait`, wait until each is searchable or has failed. If no worker is alive, run one
 * in this process meanwhile. After an abort, no file is half-uploaded: uploaded files stay queued, jobs in progress
 * return to the queue, and stderr reports it.
 *
 * @throws AppError `nothing_to_upload` (404), `bucket_not_found`, `collection_not_found` (404), `interrupted`, and
 *   errors that concern all files
 */
export async function uploadCollection(
  session: Session,
  collection: FileCollection,
  options: { bucket: string; request: UploadRequest; wait: boolean; signal: AbortSignal },
): Promise<UploadReport> {
  const { request, signal } = options;
  const place = { bucket: options.bucket, collection: request.collection_id ?? null };
  const { bucket_id: bucketId, hasWorker } = await session.call('documents.target', place);
  if (collection.files.length + collection.unreadable.length === 0) throw nothingToUpload(collection);

  const outcomes = collection.unreadable.map(({ path, sourcePath, error }) =>
    failedFile(sourcePath, 'file_unreadable', fileError(path, error).message),
  );
  const worker = ownWorker(session, signal);
  const progress = await openProgress();
  const onOutcome = (outcome: FileOutcome) => {
    step(progress, outcome);
    for (const warning of outcome.warnings) note(`warning: ${outcome.source_path}: ${warning}`);
  };
  let final: FileOutcome[] = [];
  try {
    if (options.wait) await worker.ensure();
    progress.begin('uploading', collection.files.length + outcomes.length);
    outcomes.forEach(onOutcome);
    await uploadFiles(session, { bucketId, request }, collection.files, { outcomes, onOutcome, signal });
    final = outcomes;
    if (options.wait) final = await processFiles(session, outcomes, { worker, progress });
    else if (!hasWorker) note('no worker is running; start "service serve" to process the files');
  } catch (error) {
    progress.close();
    if (signal.aborted) {
      const queued = outcomes.filter((outcome) => outcome.status !== 'failed').length;
      note(`interrupted: ${queued} of ${collection.files.length} files were uploaded and stay queued`);
    }
    throw error;
  } finally {
    progress.close();
    await worker.stop();
  }
  final.sort((a, b) => (a.source_path < b.source_path ? -1 : 1));
  return {
    object: 'list',
    bucket_id: bucketId,
    data: final,
    counts: countByStatus(final),
    skipped: collection.skipped,
  };
}

async function processFiles(
  session: Session,
  outcomes: FileOutcome[],
  { worker, progress }: { worker: OwnWorker; progress: Progress },
): Promise<FileOutcome[]> {
  const queued = outcomes.filter((outcome) => outcome.status === 'queued').length;
  if (queued === 0) return outcomes;
  progress.begin('processing', queued);
  return waitForJobs(session, outcomes, { worker, onOutcome: (outcome) => step(progress, outcome) });
}

function step(progress: Progress, outcome: FileOutcome): void {
  const reason = outcome.error === null ? '' : `: ${outcome.error.category}: ${outcome.error.message}`;
  progress.step({
    last: outcome.source_path,
    line: `${outcome.status === 'queued' ? 'uploaded' : outcome.status} ${outcome.source_path}${reason}`,
    failed: outcome.status === 'failed',
  });
}

function countByStatus(outcomes: readonly FileOutcome[]): UploadReport['counts'] {
  const counts = { ready: 0, linked: 0, queued: 0, failed: 0 };
  for (const outcome of outcomes) counts[outcome.status]++;
  return counts;
}

function nothingToUpload({ skipped }: FileCollection): AppError {
  const folders = skipped.some((entry) => entry.reason === 'folder')
    ? '; --recursive also uploads files in subfolders'
    : '';
  return new AppError({
    code: 'nothing_to_upload',
    status: 404,
    message: `there are no files to upload (${skipped.length} skipped)${folders}`,
  });
}
