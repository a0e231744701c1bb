import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo, formatDate } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import { mayUse } from '../../lib/session.ts';
import type { GrantView } from '../../types.ts';
import { Button } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { PeopleTabs } from './people-tabs.tsx';

/** Page `/console/assistants`: access granted to assistants and other clients of the tool server. */
export default function AssistantsPage() {
  const grants = useResource('grants', () => call<{ readonly data: readonly GrantView[] }>('/v1/oauth/grants'));
  const [revoked, setRevoked] = useState<GrantView | null>(null);
  return (
    <div class="page">
      <PageHeader title={t('Assistants')}>
        {t('Applications that act for a person through the tool server, with the rights that the person gave.')}
      </PageHeader>
      <PeopleTabs current="assistants" />
      <Panel>
        <Loaded of={grants}>
          {({ data }) =>
            data.length === 0 ? (
              <Empty title={t('No assistant is connected')}>
                {t('Add the address of the tool server as a connector in your assistant, and sign in.')}
              </Empty>
            ) : (
              <GrantTable rows={data} onRevoke={setRevoked} />
            )
          }
        </Loaded>
      </Panel>
      {revoked !== null && (
        <ConfirmDialog
          title={t('End the access of {name}?', { name: revoked.client })}
          action={t('End access')}
          onConfirm={async () => {
            await call(pathOf('v1', 'oauth', 'grants', revoked.id), { method: 'DELETE' });
            grants.refresh();
          }}
          onClose={() => setRevoked(null)}
        >
          <p>{t('It is refused within a second. Its person can give it access again.')}</p>
        </ConfirmDialog>
      )}
    </div>
  );
}

function GrantTable({ rows, onRevoke }: { rows: readonly GrantView[]; onRevoke: (grant: GrantView) => void }) {
  const isOfEverybody = mayUse('users:manage');
  return (
    <Table
      caption={t('Assistants')}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t('Name'),
          cell: ({ client, tool_server, given_by }) => (
            <>
              <span class="main">{client}</span>
              <span class="sub">{isOfEverybody ? `${given_by} · ${tool_server}` : tool_server}</span>
            </>
          ),
        },
        { title: t('Scopes'), wide: true, class: 'scopes', cell: ({ scopes }) => scopes.join(', ') },
        { title: t('Expires'), class: 'nowrap', cell: ({ expires_at }) => formatDate(expires_at) },
        {
          title: t('Last used'),
          wide: true,
          class: 'nowrap',
          cell: ({ last_used_at }) => (last_used_at === null ? t('Never') : formatAgo(last_used_at)),
        },
        {
          title: t('Change'),
          cell: (grant) => (
            <Button small look="danger" onClick={() => onRevoke(grant)}>
              {t('End access')}
            </Button>
          ),
        },
      ]}
    />
  );
}
