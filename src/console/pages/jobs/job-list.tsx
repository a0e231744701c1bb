import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo, formatBytes } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { reasonOf } from '../../lib/reason.ts';
import type { PagedResource } from '../../lib/resource.ts';
import { linkTo } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { BucketView, JobView } from '../../types.ts';
import { type BulkAction, BulkBar } from '../../ui/bulk-bar.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { type Column, MoreButton, Table } from '../../ui/table.tsx';
import { hasEnded, JobState } from './job-state.tsx';
import { lengthOf } from './job-times.ts';

interface JobListProps {
  readonly jobs: PagedResource<JobView>;
  readonly buckets: readonly BucketView[];
  readonly isFiltered: boolean;
}

const nameOf = ({ id, file_name }: JobView) => file_name || id;

/** Jobs as a table with one line each, and actions on the selected ones. */
export function JobList({ jobs, buckets, isFiltered }: JobListProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  return (
    <Loaded of={jobs}>
      {(rows) => {
        const selected = rows.filter(({ id }) => chosen.has(id));
        return (
          <>
            <BulkBar
              rows={selected}
              actions={actionsOn(selected)}
              nameOf={nameOf}
              onEnd={() => {
                setChosen(new Set());
                jobs.refresh();
              }}
            />
            {rows.length === 0 ? (
              <Empty title={t('There are no such jobs')}>
                {isFiltered ? t('Choose another bucket or state.') : t('Jobs appear here when documents are uploaded.')}
              </Empty>
            ) : (
              <>
                <Table
                  caption={t('Jobs')}
                  rows={rows}
                  keyOf={({ id }) => id}
                  selection={mayUse('jobs:write') ? { keys: chosen, onKeys: setChosen, nameOf } : undefined}
                  columns={columnsOf(buckets)}
                  dense
                />
                <MoreButton of={jobs} />
              </>
            )}
          </>
        );
      }}
    </Loaded>
  );
}

function columnsOf(buckets: readonly BucketView[]): Column<JobView>[] {
  const names = new Map(buckets.map(({ id, name }) => [id, name]));
  return [
    { title: t('Job'), cell: nameCell },
    { title: t('State'), cell: (job) => <JobState job={job} /> },
    { title: t('Bucket'), wide: true, cell: ({ bucket_id }) => bucketCell(bucket_id, names.get(bucket_id)) },
    {
      title: t('Kind'),
      wide: true,
      class: 'nowrap',
      cell: ({ processing_type, file_type }) => translateName(processing_type ?? file_type ?? '–'),
    },
    {
      title: t('Size'),
      numeric: true,
      wide: true,
      cell: ({ file_size }) => (file_size === 0 ? '–' : formatBytes(file_size)),
    },
    { title: t('Took'), numeric: true, wide: true, cell: lengthOf },
    { title: t('Created'), wide: true, class: 'nowrap', cell: ({ created_at }) => formatAgo(created_at) },
  ];
}

function nameCell(job: JobView) {
  return (
    <>
      <a class="main" href={linkTo('jobs', job.id)}>
        {nameOf(job)}
      </a>
      {job.error_message && <span class="sub">{reasonOf(job)}</span>}
    </>
  );
}

/** Name of a job's bucket. Bulk jobs have none, and the name of a deleted bucket is unknown. */
function bucketCell(id: string, name: string | undefined) {
  if (name !== undefined) return <a href={linkTo('buckets', id)}>{name}</a>;
  return id.startsWith('bkt_') ? <span class="faint">{t('deleted')}</span> : '–';
}

/** Return the actions that make sense for the selected jobs: repeat ended ones, cancel others. */
function actionsOn(jobs: readonly JobView[]): BulkAction<JobView>[] {
  const actions: BulkAction<JobView>[] = [];
  const path = (job: JobView, action: string) => pathOf('v1', 'jobs', job.id, action);
  if (jobs.length > 0 && jobs.every(hasEnded)) {
    actions.push({
      label: t('Process again'),
      icon: 'refresh',
      run: (job) => call(path(job, 'reprocess'), { method: 'POST' }),
    });
  }
  if (jobs.some((job) => !hasEnded(job))) {
    actions.push({
      label: t('Cancel the jobs'),
      question: t('The chosen jobs stop, and their documents stay as they are.'),
      run: (job) => call(path(job, 'cancel'), { method: 'POST', query: { force: true } }),
    });
  }
  return actions;
}
