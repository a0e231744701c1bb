import type { SourceView } from '../memory/schema.ts';
import { AppError } from '../platform/errors.ts';
import { waitWithWorker } from './own-worker.ts';
import type { Session } from './session.ts';

/**
 * Wait until a source is synchronised and its documents are searchable. After an abort, the jobs remain.
 *
 * @throws AppError `sync_failed` (409), `interrupted`
 */
export async function waitForSync(session: Session, id: string, signal: AbortSignal): Promise<SourceView> {
  let total = 0;
  const kept = 'the jobs are kept; "service sources show" shows the state of the source';
  return waitWithWorker(session, { kind: 'sync', kept, signal }, async (progress) => {
    const { source, pending } = await session.call('sources.progress', { source: id });
    if (source.sync_state === 'syncing') return null;
    if (source.sync_state === 'error') throw failureOf(source);
    if (pending === 0) return source;
    if (total === 0) progress.begin('documents to index', pending);
    total ||= pending;
    progress.update(Math.max(0, total - pending));
    return null;
  });
}

function failureOf({ name, error_message: message }: SourceView): AppError {
  return new AppError({
    code: 'sync_failed',
    status: 409,
    message: `the source ${name} could not be synchronised: ${message}; its earlier documents are kept`,
  });
}

/** Describe the counts of a synchronisation on one line. */
export function describeCounts({ counts }: SourceView): string {
  const { added, changed, removed, renamed, unchanged, failed } = counts;
  return `${added} added, ${changed} changed, ${removed} removed, ${renamed} renamed, ${unchanged} unchanged, ${failed} failed`;
}
