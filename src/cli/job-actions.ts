import type { Caller } from '../access/caller.ts';
import { cancelJob, type JobOperations, reprocessJob } from '../jobs/operations.ts';
import { oneLine } from '../platform/printable.ts';
import type { JobActions } from '../tui/jobs-watch-state.ts';

/** Make the actions that keys of the job table trigger; they act as the operator. */
export function jobActions(operations: JobOperations, operator: Caller): JobActions {
  return {
    async cancel(job, { force }) {
      const { detail } = await cancelJob(operations, operator, job.id, { force });
      return detail ?? `cancelled ${oneLine(job.file_name)}`;
    },
    async reprocess(job) {
      const { id } = await reprocessJob(operations, operator, job.id);
      return `queued again as ${id}: ${oneLine(job.file_name)}`;
    },
  };
}
