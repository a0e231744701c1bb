import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo, formatBytes, formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { reasonOf } from '../../lib/reason.ts';
import type { PagedResource } from '../../lib/resource.ts';
import { linkTo, replaceQuery } from '../../lib/router.ts';
import { mayEditMetadata, mayUse } from '../../lib/session.ts';
import type { DocumentView } from '../../types.ts';
import { type BulkAction, BulkBar } from '../../ui/bulk-bar.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { type Column, MoreButton, type Sorting, Table } from '../../ui/table.tsx';
import { BulkEditDialog } from './bulk-edit-dialog.tsx';
import { DocumentState } from './document-state.tsx';

const COLUMNS: readonly (() => Column<DocumentView>)[] = [
  () => ({ title: t('Name'), sort: 'name', cell: nameCell }),
  () => ({
    title: t('State'),
    cell: ({ status, searchable }) => <DocumentState status={status} searchable={searchable} />,
  }),
  () => ({ title: t('Type'), wide: true, cell: ({ file_type }) => file_type ?? '–' }),
  () => ({
    title: t('Chunks'),
    numeric: true,
    wide: true,
    cell: ({ chunks_count }) => (chunks_count === null ? '–' : formatNumber(chunks_count)),
  }),
  () => ({
    title: t('Size'),
    sort: 'size',
    numeric: true,
    wide: true,
    cell: ({ size_bytes }) => formatBytes(size_bytes),
  }),
  () => ({
    title: t('Changed'),
    sort: 'changed',
    wide: true,
    class: 'nowrap',
    cell: ({ updated_at }) => formatAgo(updated_at),
  }),
];

interface DocumentListProps {
  readonly bucket: string;
  readonly documents: PagedResource<DocumentView>;
  readonly isFiltered: boolean;
  readonly sort: string;
  readonly order: string;
}

/** Documents of a bucket as a table, with actions on the selected ones. */
export function DocumentList({ bucket, documents, isFiltered, sort, order }: DocumentListProps) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [editing, setEditing] = useState<readonly DocumentView[] | null>(null);
  const actions = actionsOn(bucket, setEditing);
  const endSelection = () => {
    setChosen(new Set());
    documents.refresh();
  };
  const sorting: Sorting = {
    by: sort,
    order: order === 'asc' ? 'asc' : 'desc',
    onSort: (by, next) => replaceQuery({ sort: by, order: next }),
  };
  return (
    <Loaded of={documents}>
      {(rows) => (
        <>
          <BulkBar
            rows={rows.filter(({ id }) => chosen.has(id))}
            actions={actions}
            nameOf={({ file_name }) => file_name}
            onEnd={endSelection}
          />
          {editing !== null && (
            <BulkEditDialog
              bucket={bucket}
              documents={editing}
              onClose={() => setEditing(null)}
              onDone={endSelection}
            />
          )}
          {rows.length === 0 ? (
            <Empty title={isFiltered ? t('No document matches') : t('This bucket is empty')}>
              {isFiltered
                ? t('Choose another name, type, state or folder.')
                : t('Drop files on this page to upload them.')}
            </Empty>
          ) : (
            <>
              <Table
                caption={t('Documents')}
                rows={rows}
                keyOf={({ id }) => id}
                sorting={sorting}
                selection={
                  actions.length === 0
                    ? undefined
                    : { keys: chosen, onKeys: setChosen, nameOf: ({ file_name }) => file_name }
                }
                columns={COLUMNS.map((column) => column())}
              />
              <MoreButton of={documents} />
            </>
          )}
        </>
      )}
    </Loaded>
  );
}

function actionsOn(bucket: string, onEdit: (documents: readonly DocumentView[]) => void): BulkAction<DocumentView>[] {
  const actions: BulkAction<DocumentView>[] = [];
  if (mayUse('jobs:write')) {
    actions.push({
      label: t('Process again'),
      icon: 'refresh',
      run: async ({ job_id }) => {
        if (job_id === null) throw new Error(t('It has no job; upload it again.'));
        await call(pathOf('v1', 'jobs', job_id, 'reprocess'), { method: 'POST' });
      },
    });
  }
  if (mayEditMetadata()) actions.push({ label: t('Edit metadata'), icon: 'metadata', open: onEdit });
  if (mayUse('documents:write')) {
    actions.push({
      label: t('Delete for good'),
      icon: 'trash',
      question: t('The chosen documents, their chunks and their files are removed. This cannot be undone.'),
      run: ({ id }) => call(pathOf('v1', 'buckets', bucket, 'documents', id), { method: 'DELETE' }),
    });
  }
  return actions;
}

function nameCell(document: DocumentView) {
  const { id, file_name, source_path, error_message, status } = document;
  return (
    <>
      <a class="main" href={linkTo('documents', id)}>
        {file_name}
      </a>
      {source_path && source_path !== file_name && <span class="sub">{source_path}</span>}
      {status === 'failed' && error_message && <span class="sub">{reasonOf(document)}</span>}
    </>
  );
}
