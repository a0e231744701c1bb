import type { JobsSnapshot, WatchedJob } from '../jobs/watch.ts';
import { oneLine } from '../platform/printable.ts';
import { formatCount } from '../tui/figures.ts';
import { describeDone, describeFinished, describeLive } from '../tui/jobs-table.ts';

/** Number of progress lines per job: one per finished tenth. */
const STEPS = 10;

/** Describe the changes between two snapshots, one line each. For the first snapshot, return one line of counts. */
export function describeChanges(previous: JobsSnapshot | null, next: JobsSnapshot): string[] {
  const changes = previous === null ? [overview(next)] : changesBetween(previous, next);
  return changes.map((change) => `${next.at} ${oneLine(change)}`);
}

/** Describe the number of jobs in each state. */
export function overview(snapshot: JobsSnapshot): string {
  return `${describeLive(snapshot)}  ${describeDone(snapshot)}`;
}

function changesBetween(previous: JobsSnapshot, next: JobsSnapshot): string[] {
  const changes: string[] = [];
  if (next.trouble !== null && previous.trouble !== next.trouble) changes.push(`${next.trouble}; trying again`);
  if (next.trouble === null && previous.trouble !== null) changes.push('the database answers again');
  for (const job of next.finished) changes.push(describe(job, describeFinished(job)));
  if (next.finished_more > 0) changes.push(`${formatCount(next.finished_more)} more finished`);
  const before = new Map(previous.jobs.map((job) => [job.id, job]));
  for (const job of next.jobs.toReversed()) {
    if (job.completed_at !== null) continue;
    const old = before.get(job.id);
    // The list is bounded, so an old job may appear late.
    const isNew = old === undefined && (job.status !== 'queued' || job.created_at > previous.at);
    if (isNew || (old !== undefined && old.status !== job.status)) changes.push(describe(job, retryReason(job)));
    else if (old !== undefined && stepOf(job) > stepOf(old)) changes.push(describe(job, progressOf(job)));
  }
  return changes;
}

function describe(job: WatchedJob, detail: string): string {
  return [job.id, job.status, job.file_name, ...(detail === '' ? [] : [detail])].join('  ');
}

/** Describe why a job is queued again. */
function retryReason({ status, retry_count, error_message }: WatchedJob): string {
  return status === 'queued' && retry_count > 0 ? `attempt ${retry_count} failed: ${error_message ?? 'unknown'}` : '';
}

function progressOf({ progress }: WatchedJob): string {
  return progress === null ? '' : `${progress.done} of ${progress.total} ${progress.unit}`;
}

function stepOf({ progress }: WatchedJob): number {
  if (progress?.unit !== 'texts') return 0;
  return Math.floor((STEPS * progress.done) / Math.max(1, progress.total));
}
