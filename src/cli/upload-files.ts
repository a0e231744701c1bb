import { type FileHandle, open } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { UploadReply, UploadRequest } from '../ingest/schema.ts';
import type { JobView } from '../jobs/schema.ts';
import { AppError } from '../platform/errors.ts';
import type { FoundFile } from './collect-files.ts';
import type { OwnWorker } from './own-worker.ts';
import { fileError } from './read-lines.ts';
import type { Session } from './session.ts';

const UPLOADS_AT_ONCE = 4;
const READ_BYTES = 256 * 1024;

/** Outcome of one file. `linked`: the bucket already had the same bytes, as the document `id`. */
export interface FileOutcome {
  readonly source_path: string;
  readonly id: string | null;
  readonly job_id: string | null;
  readonly status: 'ready' | 'linked' | 'queued' | 'failed';
  /** Document that already had the same bytes. */
  readonly duplicate_of: string | null;
  readonly chunks_count: number | null;
  readonly error: { readonly category: string; readonly message: string } | null;
  readonly warnings: readonly string[];
}

/** Called after every step to show progress. */
export type OnOutcome = (outcome: FileOutcome) => void;

/**
 * Upload files unchanged, a few at a time. A failed file is recorded as its outcome and doesn't stop the others.
 * `outcomes` grows with each result. It is also correct after an abort, which drops files in progress completely.
 *
 * @throws AppError for errors that concern all files: `bucket_not_found`, `storage_full`, `postgres_unavailable`, …
 */
export async function uploadFiles(
  session: Session,
  target: { readonly bucketId: string; readonly request: UploadRequest },
  files: readonly FoundFile[],
  run: { readonly outcomes: FileOutcome[]; readonly onOutcome: OnOutcome; readonly signal: AbortSignal },
): Promise<void> {
  const queue = files.values();
  const uploadOneByOne = async () => {
    for (const file of queue) {
      run.signal.throwIfAborted();
      const outcome = await uploadFile(session, target, file, run.signal);
      run.outcomes.push(outcome);
      run.onOutcome(outcome);
    }
  };
  const results = await Promise.allSettled(Array.from({ length: UPLOADS_AT_ONCE }, uploadOneByOne));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function uploadFile(
  session: Session,
  target: { readonly bucketId: string; readonly request: UploadRequest },
  file: FoundFile,
  signal: AbortSignal,
): Promise<FileOutcome> {
  const send = (fileName: string, sizeBytes: number | null, openBody: () => Readable) => {
    const request = { ...target.request, source_path: file.sourcePath };
    const input = { bucket: target.bucketId, file_name: fileName, size_bytes: sizeBytes, request };
    return session.send('documents.upload', input, openBody);
  };
  try {
    if (file.path === '-') {
      const openBody = () => Readable.from(readStdin(signal), { objectMode: false });
      return toOutcome(file, await send(path.basename(file.sourcePath), null, openBody));
    }
    // Open the file here to distinguish an unreadable file from unwritable storage.
    const handle = await open(file.path).catch((error) => {
      throw fileError(file.path, error);
    });
    try {
      const { size } = await handle.stat();
      const openBody = () => Readable.from(readChunks(handle, signal), { objectMode: false });
      return toOutcome(file, await send(path.basename(file.path), size, openBody));
    } finally {
      await handle.close();
    }
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    return failedFile(file.sourcePath, error.code, error.message);
  }
}

/** Read a file in chunks. Unlike a stream, this fails only while reading, so an abort is always caught. */
async function* readChunks(handle: FileHandle, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for (;;) {
    signal.throwIfAborted();
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* readStdin(signal: AbortSignal): AsyncGenerator<Uint8Array> {
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    signal.throwIfAborted();
    yield chunk;
  }
}

/** Create the outcome of a file that did not become a document. */
export function failedFile(sourcePath: string, category: string, message: string): FileOutcome {
  return {
    source_path: sourcePath,
    id: null,
    job_id: null,
    status: 'failed',
    duplicate_of: null,
    chunks_count: null,
    error: { category, message },
    warnings: [],
  };
}

function toOutcome(file: FoundFile, reply: UploadReply): FileOutcome {
  const isDone = reply.duplicate_of !== undefined && reply.status === 'ready';
  return {
    source_path: file.sourcePath,
    id: reply.id,
    job_id: reply.job_id,
    status: isDone ? 'linked' : 'queued',
    duplicate_of: reply.duplicate_of ?? null,
    chunks_count: null,
    error: null,
    warnings: reply.warnings,
  };
}

/**
 * Wait until the jobs of all queued outcomes have finished, and replace each outcome by the final one. A file that is
 * linked to a queued document waits for that document's job.
 *
 * @returns the outcomes in their order
 */
export async function waitForJobs(
  session: Session,
  outcomes: readonly FileOutcome[],
  { worker, onOutcome }: { readonly worker: OwnWorker; readonly onOutcome: OnOutcome },
): Promise<FileOutcome[]> {
  const final = [...outcomes];
  const waiting = Map.groupBy(
    [...outcomes.entries()].filter(([, outcome]) => outcome.status === 'queued' && outcome.job_id !== null),
    ([, outcome]) => outcome.job_id as string,
  );
  return worker.waitFor(async () => {
    for (const job of await session.call('jobs.finished', { ids: [...waiting.keys()] })) {
      for (const [index, outcome] of waiting.get(job.id) ?? []) {
        final[index] = finish(outcome, job);
        onOutcome(final[index]);
      }
      waiting.delete(job.id);
    }
    return waiting.size === 0 ? final : null;
  });
}

function finish(outcome: FileOutcome, job: JobView): FileOutcome {
  if (job.status === 'ready') {
    const status = outcome.duplicate_of === null ? 'ready' : 'linked';
    return { ...outcome, status, chunks_count: job.chunks_count };
  }
  const category = job.error_category ?? job.status;
  const message = job.error_message ?? (job.status === 'cancelled' ? 'the job was cancelled' : 'the job failed');
  return { ...outcome, status: 'failed', error: { category, message } };
}
