import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useList } from '../../lib/lists.ts';
import { useResource } from '../../lib/resource.ts';
import { linkTo, type PageProps } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import { uploadQueueOf } from '../../lib/upload.ts';
import type { BucketContents, BucketDetails, CollectionView, DocumentView } from '../../types.ts';
import { Button } from '../../ui/controls.tsx';
import { Facts, PageHeader, Panel } from '../../ui/page.tsx';
import { Failure } from '../../ui/states.tsx';
import { DeleteBucketDialog, PolicyDialog } from './bucket-dialogs.tsx';
import { Collections } from './collections.tsx';
import { DocumentFilters } from './document-filters.tsx';
import { DocumentList } from './document-list.tsx';
import { FolderTree } from './folder-tree.tsx';
import { Uploads } from './uploads.tsx';

/** URL parameters that filter or sort the list. */
const FILTERS = ['name', 'type', 'status', 'folder', 'sort', 'order'] as const;
type Filters = Readonly<Record<(typeof FILTERS)[number], string>>;

/** Page `/console/buckets/{bucket}`: the documents of a bucket. */
export default function BucketPage({ parameters, place }: PageProps) {
  const name = parameters[0] ?? '';
  const filters = Object.fromEntries(FILTERS.map((filter) => [filter, place.query.get(filter) ?? ''])) as Filters;
  const bucket = useResource(
    `bucket ${name}`,
    (signal) => call<BucketDetails>(pathOf('v1', 'buckets', name), { signal }),
    // The jobs that compute vectors report their progress.
    ['documents', 'jobs'],
  );
  const contents = useResource(
    `contents ${name}`,
    (signal) => call<BucketContents>(pathOf('v1', 'buckets', name, 'contents'), { signal }),
    ['documents'],
  );
  const documents = useList<DocumentView>(pathOf('v1', 'buckets', name, 'documents'), {
    query: filters,
    topics: ['documents', 'jobs'],
  });
  const collections = useList<CollectionView>(pathOf('v1', 'buckets', name, 'collections'));
  const queue = uploadQueueOf(pathOf('v1', 'buckets', name, 'documents'));
  const folders = contents.data?.folders ?? [];
  if (bucket.error?.status === 404) return <Gone name={name} onRetry={bucket.refresh} error={bucket.error} />;
  return (
    <div class="page">
      <Header name={name} bucket={bucket.data} onChange={bucket.refresh} />
      {bucket.data && <WordsOnly bucket={bucket.data} />}
      {mayUse('documents:write') && <Uploads queue={queue} collections={collections.data ?? []} />}
      <div class={folders.length > 0 ? 'with-tree' : undefined}>
        {folders.length > 0 && <FolderTree bucket={name} folders={folders} chosen={filters.folder} />}
        <Panel
          title={filters.folder === '' ? t('Documents') : filters.folder}
          actions={<DocumentFilters {...filters} types={contents.data?.types ?? []} />}
        >
          <DocumentList
            bucket={name}
            documents={documents}
            isFiltered={[filters.name, filters.type, filters.status, filters.folder].some((value) => value !== '')}
            sort={filters.sort}
            order={filters.order}
          />
        </Panel>
      </div>
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

/** Number of chunks that are found only by words while their vectors are being computed. */
function WordsOnly({ bucket: { embedding, words_only_chunks: count } }: { bucket: BucketDetails }) {
  if (count === 0) return null;
  // The bucket has no vectors at all before the first ones are computed.
  const total = Math.max(embedding?.chunks ?? 0, count);
  return (
    <div class="stack tight">
      <p class="quiet">{t('{words} of {count|chunk|chunks} by words only', { words: count, count: total })}</p>
      <progress value={total - count} max={total} aria-label={t('Progress of the vectors')} />
    </div>
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
