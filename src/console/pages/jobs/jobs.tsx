import { call } from '../../lib/api.ts';
import { formatAgo, formatBytes } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { toPage, useBuckets } from '../../lib/lists.ts';
import { type PagedResource, usePages } from '../../lib/resource.ts';
import { linkTo, type PageProps, replaceQuery } from '../../lib/router.ts';
import type { JobView } from '../../types.ts';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { MoreButton, Table } from '../../ui/table.tsx';
import { JobState } from './job-state.tsx';
import { attemptsOf, lengthOf } from './job-times.ts';

const STATUSES = ['queued', 'extracting', 'chunking', 'embedding', 'indexing', 'ready', 'failed', 'cancelled'];
const PAGE_ROWS = 50;

/** Page `/console/jobs`: work on documents, bulk embedding and everything else that runs in the background. */
export default function JobsPage({ place }: PageProps) {
  const status = place.query.get('status') ?? '';
  const bucket = place.query.get('bucket') ?? '';
  const jobs = usePages<JobView>(
    `jobs ${status} ${bucket}`,
    async (cursor, signal) => {
      const query = { status, bucket_id: bucket, cursor, limit: PAGE_ROWS };
      const data = await call<readonly JobView[]>('/v1/jobs', { query, signal });
      return toPage(data, PAGE_ROWS, ({ id }) => id);
    },
    ['jobs'],
  );
  return (
    <div class="page">
      <PageHeader title={t('Jobs')}>
        {t('Work in the background: documents, bulk embedding, sources and indexes.')}
      </PageHeader>
      <Panel title={t('Newest first')} actions={<JobFilters status={status} bucket={bucket} />}>
        <JobTable jobs={jobs} />
      </Panel>
    </div>
  );
}

function JobFilters({ status, bucket }: { status: string; bucket: string }) {
  const buckets = useBuckets();
  return (
    <>
      <select
        class="input"
        aria-label={t('Bucket')}
        value={bucket}
        onChange={(event) => replaceQuery({ bucket: event.currentTarget.value })}
      >
        <option value="">{t('Every bucket')}</option>
        {(buckets.data ?? []).map(({ name }) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
      <select
        class="input"
        aria-label={t('State')}
        value={status}
        onChange={(event) => replaceQuery({ status: event.currentTarget.value })}
      >
        <option value="">{t('Every state')}</option>
        {STATUSES.map((each) => (
          <option key={each} value={each}>
            {translateName(each)}
          </option>
        ))}
      </select>
    </>
  );
}

function JobTable({ jobs }: { jobs: PagedResource<JobView> }) {
  return (
    <Loaded of={jobs}>
      {(rows) =>
        rows.length === 0 ? (
          <Empty title={t('There are no such jobs')}>{t('Jobs appear here when documents are uploaded.')}</Empty>
        ) : (
          <>
            <Table
              caption={t('Jobs')}
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: t('Job'), cell: nameCell },
                { title: t('State'), cell: (job) => <JobState job={job} /> },
                {
                  title: t('Size'),
                  numeric: true,
                  wide: true,
                  cell: ({ file_size }) => (file_size === 0 ? '–' : formatBytes(file_size)),
                },
                { title: t('Attempts'), numeric: true, wide: true, cell: attemptsOf },
                { title: t('Took'), numeric: true, wide: true, cell: lengthOf },
                { title: t('Created'), wide: true, class: 'nowrap', cell: ({ created_at }) => formatAgo(created_at) },
              ]}
            />
            <MoreButton of={jobs} />
          </>
        )
      }
    </Loaded>
  );
}

function nameCell({ id, file_name, processing_type, error_message, file_type }: JobView) {
  return (
    <>
      <a class="main" href={linkTo('jobs', id)}>
        {file_name || id}
      </a>
      <span class="sub">{translateName(processing_type ?? file_type ?? '')}</span>
      {error_message && <span class="sub">{error_message}</span>}
    </>
  );
}
