import { useEffect } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatTime } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, useAction, usePages } from '../../lib/resource.ts';
import type { WebhookDelivery, WebhookView } from '../../types.ts';
import { ActionError, Button } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { MoreButton, Table } from '../../ui/table.tsx';

const PAGE_ROWS = 50;
const REFRESH_MS = 10_000;

/** List of a webhook's deliveries, newest first. It is reloaded periodically. */
export function Deliveries({ webhook }: { webhook: WebhookView }) {
  const path = pathOf('v1', 'webhooks', webhook.id, 'deliveries');
  const deliveries = usePages<WebhookDelivery>(path, (cursor, signal) =>
    call<Page<WebhookDelivery>>(path, { query: { cursor, limit: PAGE_ROWS }, signal }),
  );
  const { refreshQuietly: refresh } = deliveries;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  const replay = useAction(async (id: string) => {
    await call(pathOf('v1', 'webhooks', webhook.id, 'deliveries', id, 'replay'), { method: 'POST' });
    refresh();
  });
  return (
    <Panel title={t('Sent events')}>
      <ActionError error={replay.error} />
      <Loaded of={deliveries}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={t('No events yet')}>{t('Events of the last seven days appear here.')}</Empty>
          ) : (
            <>
              <DeliveryTable rows={rows} onReplay={webhook.enabled ? ({ id }) => void replay.run(id) : null} />
              <MoreButton of={deliveries} />
            </>
          )
        }
      </Loaded>
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
