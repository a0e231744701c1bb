import { jobProgress } from '../../lib/events.ts';
import { formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useStore } from '../../lib/store.ts';
import type { JobView } from '../../types.ts';
import { Status } from '../../ui/status.tsx';

const ENDED: readonly string[] = ['ready', 'failed', 'cancelled'];

/** Return true for a job in a final state. */
export function hasEnded({ status }: Pick<JobView, 'status'>): boolean {
  return ENDED.includes(status);
}

/** State of a job, with its progress while it runs. */
export function JobState({ job }: { job: JobView }) {
  const progress = useStore(jobProgress).get(job.id);
  if (progress === undefined || hasEnded(job)) return <Status of={job.status} />;
  const { done, total } = progress;
  return (
    <span class="stack tight">
      <span>
        <Status of={job.status} />
      </span>
      <progress value={done} max={Math.max(total, 1)} aria-label={t('Progress of {name}', { name: job.file_name })} />
      <span class="faint number">
        {formatNumber(done)} / {formatNumber(total)}
      </span>
    </span>
  );
}
