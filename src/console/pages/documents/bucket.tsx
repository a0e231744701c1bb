import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo, formatBytes, formatNumber } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { type Page, type PagedResource, usePages, useResource } from '../../lib/resource.ts';
import { linkTo, type PageProps, replaceQuery } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import { uploadQueueOf } from '../../lib/upload.ts';
import type { BucketDetails, CollectionView, DocumentStatus, DocumentView } from '../../types.ts';
import { Button } from '../../ui/controls.tsx';
import { Facts, PageHeader, Panel } from '../../ui/page.tsx';
import { Empty, Failure, Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { MoreButton, Table } from '../../ui/table.tsx';
import { DeleteBucketDialog, PolicyDialog } from './bucket-dialogs.tsx';
import { Collections } from './collections.tsx';
import { Uploads } from './uploads.tsx';

const STATUSES: readonly DocumentStatus[] = ['queued', 'processing', 'ready', 'failed'];
const PAGE_ROWS = 50;

/** Page `/console/buckets/{bucket}`: the documents of a bucket. */
export default function BucketPage({ parameters, place }: PageProps) {
  const name = parameters[0] ?? '';
  const status = place.query.get('status') ?? '';
  const bucket = useResource(
    `bucket ${name}`,
    (signal) => call<BucketDetails>(pathOf('v1', 'buckets', name), { signal }),
    ['documents'],
  );
  const documents = usePages<DocumentView>(
    `documents ${name} ${status}`,
    (cursor, signal) =>
      call<Page<DocumentView>>(pathOf('v1', 'buckets', name, 'documents'), {
        query: { cursor, status, limit: PAGE_ROWS },
        signal,
      }),
    ['documents', 'jobs'],
  );
  const collections = usePages<CollectionView>(`collections ${name}`, (cursor, signal) =>
    call<Page<CollectionView>>(pathOf('v1', 'buckets', name, 'collections'), {
      query: { cursor, limit: PAGE_ROWS },
      signal,
    }),
  );
  const queue = uploadQueueOf(pathOf('v1', 'buckets', name, 'documents'));
  if (bucket.error?.status === 404) return <Gone name={name} onRetry={bucket.refresh} error={bucket.error} />;
  return (
    <div class="page">
      <Header name={name} bucket={bucket.data} onChange={bucket.refresh} />
      {mayUse('documents:write') && <Uploads queue={queue} collections={collections.data ?? []} />}
      <Panel title={t('Documents')} actions={<StatusFilter status={status} />}>
        <DocumentList documents={documents} isFiltered={status !== ''} />
      </Panel>
      {bucket.data && <Collections bucket={bucket.data.name} of={collections} />}
      {bucket.data && <BucketFacts bucket={bucket.data} />}
    </div>
  );
}

function Header({ name, bucket, onChange }: { name: string; bucket: BucketDetails | null; onChange: () => void }) {
  const [open, setOpen] = useState<'policy' | 'delete' | null>(null);
  const close = () => setOpen(null);
  return (
    <>
      <PageHeader
        title={bucket?.name ?? name}
        crumbs={[{ label: t('Documents'), href: linkTo('documents') }]}
        actions={
          mayUse('buckets:manage') &&
          bucket && (
            <>
              <Button onClick={() => setOpen('policy')}>{t('Name and policy')}</Button>
              <Button look="danger" icon="trash" onClick={() => setOpen('delete')}>
                {t('Delete')}
              </Button>
            </>
          )
        }
      />
      {bucket && open === 'policy' && <PolicyDialog bucket={bucket} onClose={close} onSaved={onChange} />}
      {bucket && open === 'delete' && <DeleteBucketDialog bucket={bucket} onClose={close} />}
    </>
  );
}

function Gone({
  name,
  error,
  onRetry,
}: {
  name: string;
  error: Parameters<typeof Failure>[0]['error'];
  onRetry: () => void;
}) {
  return (
    <div class="page">
      <PageHeader title={name} crumbs={[{ label: t('Documents'), href: linkTo('documents') }]} />
      <div class="panel">
        <Failure error={error} onRetry={onRetry} />
      </div>
    </div>
  );
}

function StatusFilter({ status }: { status: string }) {
  return (
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
  );
}

function DocumentList({ documents, isFiltered }: { documents: PagedResource<DocumentView>; isFiltered: boolean }) {
  return (
    <Loaded of={documents}>
      {(rows) =>
        rows.length === 0 ? (
          <Empty title={isFiltered ? t('No document is in this state') : t('This bucket is empty')}>
            {isFiltered ? t('Choose another state.') : t('Drop files on this page to upload them.')}
          </Empty>
        ) : (
          <>
            <Table
              caption={t('Documents')}
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: t('Name'), cell: nameCell },
                {
                  title: t('State'),
                  cell: ({ status, searchable }) => <DocumentState status={status} searchable={searchable} />,
                },
                { title: t('Type'), wide: true, cell: ({ file_type }) => file_type ?? '–' },
                {
                  title: t('Chunks'),
                  numeric: true,
                  wide: true,
                  cell: ({ chunks_count }) => (chunks_count === null ? '–' : formatNumber(chunks_count)),
                },
                { title: t('Size'), numeric: true, wide: true, cell: ({ size_bytes }) => formatBytes(size_bytes) },
                { title: t('Changed'), wide: true, class: 'nowrap', cell: ({ updated_at }) => formatAgo(updated_at) },
              ]}
            />
            <MoreButton of={documents} />
          </>
        )
      }
    </Loaded>
  );
}

function nameCell({ id, file_name, source_path, error_message, status }: DocumentView) {
  return (
    <>
      <a class="main" href={linkTo('documents', id)}>
        {file_name}
      </a>
      {source_path && <span class="sub">{source_path}</span>}
      {status === 'failed' && error_message && <span class="sub">{error_message}</span>}
    </>
  );
}

export function DocumentState({ status, searchable }: { status: string; searchable: boolean }) {
  return (
    <>
      <Status of={status} />
      {!searchable && <span class="sub">{t('not searchable')}</span>}
    </>
  );
}

function BucketFacts({ bucket: { id, embedding, policy, created_at } }: { bucket: BucketDetails }) {
  const { max_privacy_level, public_max_privacy_level, allow_public, departments } = policy;
  return (
    <Panel title={t('About this bucket')} padded>
      <Facts
        of={[
          [t('Id'), <code key="id">{id}</code>],
          [t('Model'), embedding ? `${embedding.model} · ${embedding.space}` : t('Chosen with the first document')],
          [t('Highest privacy level'), max_privacy_level],
          [
            t('Public documents'),
            allow_public ? t('Allowed up to level {level}', { level: public_max_privacy_level }) : t('Not allowed'),
          ],
          [t('Departments'), departments?.join(', ') || t('All')],
          [t('Created'), formatAgo(created_at)],
        ]}
      />
    </Panel>
  );
}
