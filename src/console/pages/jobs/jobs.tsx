import { t, translateName } from '../../lib/i18n.ts';
import { useArray, useBuckets } from '../../lib/lists.ts';
import type { PageProps } from '../../lib/router.ts';
import type { BucketView, JobView } from '../../types.ts';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { QuerySelect } from '../../ui/query-select.tsx';
import { JobList } from './job-list.tsx';

const STATUSES = ['queued', 'extracting', 'chunking', 'embedding', 'indexing', 'ready', 'failed', 'cancelled'];
/** Page `/console/jobs`: work on documents, bulk embedding and everything else that runs in the background. */
export default function JobsPage({ place }: PageProps) {
  const status = place.query.get('status') ?? '';
  const bucket = place.query.get('bucket') ?? '';
  const buckets = useBuckets();
  const jobs = useArray<JobView>('/v1/jobs', ({ id }) => id, {
    query: { status, bucket_id: bucket },
    topics: ['jobs'],
  });
  return (
    <div class="page">
      <PageHeader title={t('Jobs')}>
        {t('Work in the background: documents, bulk embedding, sources and indexes.')}
      </PageHeader>
      <Panel
        title={t('Newest first')}
        actions={<JobFilters status={status} bucket={bucket} buckets={buckets.data ?? []} />}
      >
        <JobList jobs={jobs} buckets={buckets.data ?? []} isFiltered={status !== '' || bucket !== ''} />
      </Panel>
    </div>
  );
}

interface JobFiltersProps {
  readonly status: string;
  readonly bucket: string;
  readonly buckets: readonly BucketView[];
}

function JobFilters({ status, bucket, buckets }: JobFiltersProps) {
  return (
    <>
      <QuerySelect
        label={t('Bucket')}
        parameter="bucket"
        value={bucket}
        all={t('Every bucket')}
        options={buckets.map(({ name }) => ({ value: name, label: name }))}
      />
      <QuerySelect
        label={t('State')}
        parameter="status"
        value={status}
        all={t('Every state')}
        options={STATUSES.map((each) => ({ value: each, label: translateName(each) }))}
      />
    </>
  );
}
