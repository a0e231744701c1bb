import { call, pathOf } from '../../lib/api.ts';
import { formatAgo } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useArray } from '../../lib/lists.ts';
import { useAction } from '../../lib/resource.ts';
import type { SourceFaultView, SourceView } from '../../types.ts';
import { ActionError, Button } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { MoreButton, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';

/** Entries that the last synchronisation couldn't read, each with a button to retry it. */
export function SourceFaults({ source, onChange }: { source: SourceView; onChange: () => void }) {
  const path = pathOf('v1', 'memory', 'sources', source.id);
  const faults = useArray<SourceFaultView>(`${path}/faults`, ({ key }) => key, { topics: ['sources', 'jobs'] });
  const retry = useAction(async (key: string) => {
    await call(`${path}/sync`, { method: 'POST', json: { entries: [key] } });
    toast(t('{key} is read again', { key }));
    onChange();
  });
  return (
    <Panel title={t('Entries that could not be read')}>
      <ActionError error={retry.error} />
      <Loaded of={faults}>
        {(rows) => (
          <>
            <Table
              caption={t('Entries that could not be read')}
              rows={rows}
              keyOf={({ key }) => key}
              columns={[
                {
                  title: t('Entry'),
                  cell: ({ key, is_folder: isFolder, fault }) => (
                    <>
                      {isFolder ? `${key}/` : key}
                      <span class="sub">{fault}</span>
                    </>
                  ),
                },
                { title: t('Since'), wide: true, class: 'nowrap', cell: ({ since }) => formatAgo(since) },
                {
                  title: t('Action'),
                  cell: ({ key }) => (
                    <Button isBusy={retry.isRunning} onClick={() => retry.run(key)}>
                      {t('Read again')}
                    </Button>
                  ),
                },
              ]}
            />
            <MoreButton of={faults} />
          </>
        )}
      </Loaded>
    </Panel>
  );
}
