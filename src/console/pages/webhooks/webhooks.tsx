import { useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, useResource } from '../../lib/resource.ts';
import { linkTo } from '../../lib/router.ts';
import type { WebhookView } from '../../types.ts';
import { Button } from '../../ui/controls.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Status } from '../../ui/status.tsx';
import { List, Table } from '../../ui/table.tsx';
import { NewWebhookDialog } from './new-webhook.tsx';

/** Page `/console/webhooks`: addresses that receive events. */
export default function WebhooksPage() {
  const webhooks = useResource('webhooks', async (signal) => {
    const { data } = await call<Page<WebhookView>>('/v1/webhooks', { signal });
    return data;
  });
  const [isCreating, setIsCreating] = useState(false);
  const create = (
    <Button look="primary" icon="plus" onClick={() => setIsCreating(true)}>
      {t('New webhook')}
    </Button>
  );
  return (
    <div class="page">
      <PageHeader title={t('Webhooks')} actions={create}>
        {t('Addresses to which the service posts signed events: jobs, documents, sources, workflows and quotas.')}
      </PageHeader>
      <Panel>
        <List
          of={webhooks}
          empty={t('There are no webhooks yet')}
          hint={t('A webhook tells your program what happens, so that it need not ask.')}
        >
          {(rows) => <WebhookTable rows={rows} />}
        </List>
      </Panel>
      {isCreating && <NewWebhookDialog onClose={() => setIsCreating(false)} onSaved={webhooks.refresh} />}
    </div>
  );
}

/** Return the name of the state of a webhook. */
export function stateOf({ enabled, failing_since: failingSince }: WebhookView): string {
  if (!enabled) return 'suspended';
  return failingSince === null ? 'active' : 'failed';
}

function WebhookTable({ rows }: { rows: readonly WebhookView[] }) {
  return (
    <Table
      caption={t('Webhooks')}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t('Name'),
          cell: ({ id, name, url }) => (
            <>
              <a class="main" href={linkTo('webhooks', id)}>
                {name}
              </a>
              <span class="sub">{url}</span>
            </>
          ),
        },
        {
          title: t('State'),
          cell: (webhook) => (
            <>
              <Status of={stateOf(webhook)} />
              {webhook.disabled_reason && <span class="sub">{webhook.disabled_reason}</span>}
            </>
          ),
        },
        { title: t('Events'), wide: true, cell: ({ events }) => events.join(', ') },
      ]}
    />
  );
}
