import { oneLine } from '../platform/printable.ts';
import type { JobActions } from '../tui/jobs-watch-state.ts';
import type { Session } from './session.ts';

/** Create the actions behind the keys of the job table. They act as the operator. */
export function jobActions(session: Session): JobActions {
  return {
    async cancel(job, { force }) {
      await session.call('jobs.cancel', { id: job.id, force });
      return `cancelled ${oneLine(job.file_name)}`;
    },
    async reprocess(job) {
      const { id } = await session.call('jobs.reprocess', { id: job.id });
      return `queued again as ${id}: ${oneLine(job.file_name)}`;
    },
  };
}
