import { useState } from 'preact/hooks';
import { formatAgo, formatNumber } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useArray } from '../../lib/lists.ts';
import { reasonOf } from '../../lib/reason.ts';
import { linkTo } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { SourceView } from '../../types.ts';
import { Button } from '../../ui/controls.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Status } from '../../ui/status.tsx';
import { List, Table } from '../../ui/table.tsx';
import { NewSourceDialog } from './new-source.tsx';

/** Page `/console/sources`: connected places. */
export default function SourcesPage() {
  const [isCreating, setIsCreating] = useState(false);
  const sources = useArray<SourceView>('/v1/memory/sources', ({ name }) => name, { topics: ['sources', 'jobs'] });
  const create = mayUse('sources:manage') && (
    <Button look="primary" icon="plus" onClick={() => setIsCreating(true)}>
      {t('Connect a source')}
    </Button>
  );
  return (
    <div class="page">
      <PageHeader title={t('Sources')} actions={create}>
        {t('Folders, websites, mailboxes, databases and other places whose contents are kept as documents.')}
      </PageHeader>
      <Panel>
        <List
          of={sources}
          empty={t('There are no sources yet')}
          hint={t(
            'An operator names the places under “sources” in service.yaml and restarts the service. Help shows how.',
          )}
        >
          {(rows) => <SourceTable rows={rows} />}
        </List>
      </Panel>
      {isCreating && <NewSourceDialog onClose={() => setIsCreating(false)} onSaved={sources.refresh} />}
    </div>
  );
}

function SourceTable({ rows }: { rows: readonly SourceView[] }) {
  return (
    <Table
      caption={t('Sources')}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t('Name'),
          cell: (source) => (
            <>
              <a class="main" href={linkTo('sources', source.id)}>
                {source.name}
              </a>
              {source.error_message && <span class="sub">{reasonOf(source)}</span>}
            </>
          ),
        },
        {
          title: t('State'),
          cell: ({ sync_state: state, paused_at: pausedAt }) => <Status of={pausedAt === null ? state : 'paused'} />,
        },
        { title: t('Type'), wide: true, cell: ({ type, connection }) => `${translateName(type)} · ${connection}` },
        {
          title: t('Documents'),
          numeric: true,
          wide: true,
          cell: (source) => formatNumber(source.indexed_document_count),
        },
        {
          title: t('Last synchronised'),
          wide: true,
          class: 'nowrap',
          cell: ({ last_synced_at }) => (last_synced_at === null ? t('Never') : formatAgo(last_synced_at)),
        },
      ]}
    />
  );
}
