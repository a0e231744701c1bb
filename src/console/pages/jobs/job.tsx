import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatBytes, formatNumber, formatTime } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useBuckets } from '../../lib/lists.ts';
import { type Page, useAction, useResource } from '../../lib/resource.ts';
import { linkTo, navigate, type PageProps } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { JobView } from '../../types.ts';
import { ActionError, Button, Notice, Warnings } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Facts, PageHeader, Panel } from '../../ui/page.tsx';
import { Reason } from '../../ui/reason.tsx';
import { Loaded } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { hasEnded, JobState } from './job-state.tsx';
import { attemptsOf, lengthOf } from './job-times.ts';

export default function JobPage({ parameters }: PageProps) {
  const id = parameters[0] ?? '';
  const job = useResource(`job ${id}`, (signal) => call<JobView>(pathOf('v1', 'jobs', id), { signal }), ['jobs']);
  return (
    <div class="page">
      <PageHeader
        title={job.data?.file_name || t('Job')}
        crumbs={[{ label: t('Jobs'), href: linkTo('jobs') }]}
        actions={job.data && <JobActions job={job.data} onChange={job.refresh} />}
      />
      <Loaded of={job}>{(shown) => <JobDetails job={shown} />}</Loaded>
    </div>
  );
}

function JobDetails({ job }: { job: JobView }) {
  return (
    <>
      {job.error_message && (
        <Notice
          tone="bad"
          title={
            job.failed_phase ? t('Failed while: {phase}', { phase: translateName(job.failed_phase) }) : t('Failed')
          }
        >
          <Reason of={job} />
          {job.retryable !== null && (
            <span>
              {job.retryable ? t('Processing it again may succeed.') : t('Processing it again will not help.')}
            </span>
          )}
        </Notice>
      )}
      <Warnings of={job.warnings} />
      <Panel title={t('Facts')} padded>
        <JobFacts job={job} />
      </Panel>
    </>
  );
}

function JobFacts({ job }: { job: JobView }) {
  const timeOf = (iso: string | null) => (iso === null ? '–' : formatTime(iso));
  const { document_id, bucket_id, reprocess_of_job_id } = job;
  const bucket = useBuckets().data?.find(({ id }) => id === bucket_id)?.name;
  return (
    <Facts
      of={[
        [t('State'), <JobState key="state" job={job} />],
        [t('Kind'), translateName(job.processing_type ?? job.file_type ?? '–')],
        ...(document_id === null
          ? []
          : [
              [
                t('Document'),
                <a key="document" href={linkTo('documents', document_id)}>
                  {job.file_name}
                </a>,
              ] as const,
            ]),
        ...(bucket_id.startsWith('bkt_')
          ? [
              [
                t('Bucket'),
                <a key="bucket" href={linkTo('buckets', bucket_id)}>
                  {bucket ?? bucket_id}
                </a>,
              ] as const,
            ]
          : []),
        ...(reprocess_of_job_id === null
          ? []
          : [
              [
                t('Repeats'),
                <a key="origin" href={linkTo('jobs', reprocess_of_job_id)}>
                  {reprocess_of_job_id}
                </a>,
              ] as const,
            ]),
        ...(job.error_category === null
          ? []
          : [[t('Category of the error'), translateName(job.error_category)] as const]),
        [t('Size'), formatBytes(job.file_size)],
        [t('Chunks'), job.chunks_count === null ? '–' : formatNumber(job.chunks_count)],
        [t('Attempts'), formatNumber(attemptsOf(job))],
        [t('Priority'), job.priority],
        [t('Cost'), `${job.actual_cost ?? job.estimated_cost}`],
        [t('Created'), timeOf(job.created_at)],
        [t('Started'), timeOf(job.started_at)],
        [t('Ended'), timeOf(job.completed_at)],
        [t('Took'), lengthOf(job)],
        ...(job.worker_id === null ? [] : [[t('Worker'), <code key="worker">{job.worker_id}</code>] as const]),
        [t('Id'), <code key="id">{job.id}</code>],
      ]}
    />
  );
}

function JobActions({ job, onChange }: { job: JobView; onChange: () => void }) {
  const [isDeleting, setIsDeleting] = useState(false);
  const isOver = hasEnded(job);
  const path = (action: string) => pathOf('v1', 'jobs', job.id, action);
  const cancel = useAction(async () => {
    await call(path('cancel'), { method: 'POST', query: { force: job.status !== 'queued' } });
    toast(t('The job is cancelled'));
    onChange();
  });
  const repeat = useAction(async () => {
    const next = await call<JobView>(path('reprocess'), { method: 'POST' });
    navigate(linkTo('jobs', next.id));
  });
  const download = useAction(async () => {
    const files = await call<Page<unknown>>(path('files'));
    if (files.data.length === 0) throw new Error(t('The original file is not kept with a recent job.'));
    location.assign(path('download'));
  });
  const remove = async () => {
    await call(pathOf('v1', 'jobs', job.id), { method: 'DELETE' });
    navigate(linkTo('jobs'));
  };
  const canWrite = mayUse('jobs:write');
  return (
    <>
      {job.document_id && (
        <Button icon="download" isBusy={download.isRunning} onClick={() => download.run()}>
          {t('Original')}
        </Button>
      )}
      {canWrite && !isOver && (
        <Button look="danger" isBusy={cancel.isRunning} onClick={() => cancel.run()}>
          {t('Cancel the job')}
        </Button>
      )}
      {canWrite && isOver && (
        <>
          <Button icon="refresh" isBusy={repeat.isRunning} onClick={() => repeat.run()}>
            {t('Process again')}
          </Button>
          <Button look="danger" icon="trash" onClick={() => setIsDeleting(true)}>
            {t('Remove')}
          </Button>
        </>
      )}
      <ActionError error={cancel.error ?? repeat.error ?? download.error} />
      {isDeleting && (
        <ConfirmDialog
          title={t('Remove this job?')}
          action={t('Remove')}
          onConfirm={remove}
          onClose={() => setIsDeleting(false)}
        >
          <p>{t('The record of the job is removed. Its document stays.')}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
