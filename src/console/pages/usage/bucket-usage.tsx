import { call } from '../../lib/api.ts';
import { formatBytes, formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import { linkTo } from '../../lib/router.ts';
import type { UsageByBucket } from '../../types.ts';
import { Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { ExportButton } from './export-button.tsx';
import { periodOf } from './period.ts';

/** Searches per bucket in a month, and its current documents. */
export function BucketUsage({ month }: { month: string }) {
  const buckets = useResource(`usage buckets ${month}`, (signal) =>
    call<UsageByBucket>('/v1/usage/buckets', { query: periodOf(month), signal }),
  );
  const rows = (buckets.data?.data ?? []).map((row) => [
    ...[row.bucket_id, row.name, row.searches, row.unanswered, row.documents, row.bytes],
  ]);
  return (
    <Panel
      title={t('By bucket')}
      actions={
        <ExportButton
          name={`usage-buckets-${month}`}
          columns={['bucket_id', 'name', 'searches', 'unanswered', 'documents', 'bytes']}
          rows={rows}
        />
      }
    >
      <Loaded of={buckets}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t('There are no buckets yet')} />
          ) : (
            <Table
              caption={t('By bucket')}
              rows={data}
              keyOf={({ bucket_id }) => bucket_id}
              columns={[
                {
                  title: t('Bucket'),
                  class: 'main',
                  cell: ({ bucket_id, name }) => <a href={linkTo('buckets', bucket_id)}>{name}</a>,
                },
                { title: t('Searches'), numeric: true, cell: ({ searches }) => formatNumber(searches) },
                {
                  title: t('Answers not found'),
                  numeric: true,
                  wide: true,
                  cell: ({ unanswered }) => formatNumber(unanswered),
                },
                {
                  title: t('Documents'),
                  numeric: true,
                  wide: true,
                  cell: ({ documents }) => formatNumber(documents),
                },
                { title: t('Size'), numeric: true, cell: ({ bytes }) => formatBytes(bytes) },
              ]}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}
