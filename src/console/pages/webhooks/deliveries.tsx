import { call, pathOf } from '../../lib/api.ts';
import { formatTime } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useRefreshedList } from '../../lib/lists.ts';
import { useAction } from '../../lib/resource.ts';
import type { WebhookDelivery, WebhookView } from '../../types.ts';
import { ActionError, Button } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import { Status } from '../../ui/status.tsx';
import { List, Table } from '../../ui/table.tsx';

/** List of a webhook's deliveries, newest first. */
export function Deliveries({ webhook }: { webhook: WebhookView }) {
  const deliveries = useRefreshedList<WebhookDelivery>(pathOf('v1', 'webhooks', webhook.id, 'deliveries'));
  const replay = useAction(async (id: string) => {
    await call(pathOf('v1', 'webhooks', webhook.id, 'deliveries', id, 'replay'), { method: 'POST' });
    deliveries.refreshQuietly();
  });
  return (
    <Panel title={t('Sent events')}>
      <ActionError error={replay.error} />
      <List of={deliveries} empty={t('No events yet')} hint={t('Events of the last seven days appear here.')}>
        {(rows) => <DeliveryTable rows={rows} onReplay={webhook.enabled ? ({ id }) => void replay.run(id) : null} />}
      </List>
    </Panel>
  );
}

interface TableProps {
  readonly rows: readonly WebhookDelivery[];
  /** Null if nothing can be sent. */
  readonly onReplay: ((delivery: WebhookDelivery) => void) | null;
}

function DeliveryTable({ rows, onReplay }: TableProps) {
  return (
    <Table
      caption={t('Sent events')}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t('Event'),
          cell: ({ type, object_id: object }) => (
            <>
              <span class="main">{type}</span>
              <span class="sub">{object}</span>
            </>
          ),
        },
        {
          title: t('State'),
          cell: ({ status, error }) => (
            <>
              <Status of={status === 'pending' ? 'queued' : status} />
              {error && <span class="sub">{error}</span>}
            </>
          ),
        },
        { title: t('Time'), wide: true, class: 'nowrap', cell: ({ occurred_at: at }) => formatTime(at) },
        {
          title: t('Change'),
          cell: (delivery) =>
            onReplay !== null &&
            delivery.status !== 'pending' && (
              <Button small onClick={() => onReplay(delivery)}>
                {t('Send again')}
              </Button>
            ),
        },
      ]}
    />
  );
}
