import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatDuration, formatTime } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useRefreshedList } from '../../lib/lists.ts';
import { mayUse } from '../../lib/session.ts';
import type { ChannelView, DeliveryView, NotificationRecord } from '../../types.ts';
import { Button } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/page.tsx';
import { Status } from '../../ui/status.tsx';
import { List, Table } from '../../ui/table.tsx';
import { toast } from '../../ui/toast.tsx';
import { SendDialog, sends } from './send-dialog.tsx';

type Configs = { configs: readonly ChannelView[] };
const nameOf = (configs: readonly ChannelView[], id: string) => configs.find((config) => config.id === id)?.name ?? id;

/** Received messages, with replies that are still kept. */
export function Deliveries({ configs }: Configs) {
  const deliveries = useRefreshedList<DeliveryView>('/v1/channels/deliveries');
  return (
    <Panel title={t('Deliveries')}>
      <List
        of={deliveries}
        empty={t('No messages were received')}
        hint={t('What people write is not kept; the replies are kept for ten minutes.')}
      >
        {(rows) => (
          <Table
            caption={t('Deliveries')}
            rows={rows}
            keyOf={({ id }) => id}
            columns={[
              {
                title: t('Received'),
                cell: ({ received_at, channel_config_id }) => (
                  <>
                    <span class="nowrap">{formatTime(received_at)}</span>
                    <span class="sub">{nameOf(configs, channel_config_id)}</span>
                  </>
                ),
              },
              {
                title: t('State'),
                cell: ({ status, outcome, later_status, later_reason }) => (
                  <>
                    <Status of={outcome ?? status} /> {later_status && <Status of={later_status} />}
                    {later_reason && <span class="sub">{later_reason}</span>}
                  </>
                ),
              },
              {
                title: t('Took'),
                numeric: true,
                wide: true,
                cell: ({ duration_ms }) => (duration_ms === null ? '–' : formatDuration(duration_ms)),
              },
              {
                title: t('Reply'),
                class: 'reply',
                cell: ({ texts }) => <span class="result-text whole">{texts.join('\n')}</span>,
              },
            ]}
          />
        )}
      </List>
    </Panel>
  );
}

/** Sent, recorded, waiting and failed notifications. */
export function Outbox({ configs }: Configs) {
  const outbox = useRefreshedList<NotificationRecord>('/v1/channels/outbox');
  const [isSending, setIsSending] = useState(false);
  const [cancelling, setCancelling] = useState<NotificationRecord | null>(null);
  const sending = configs.filter(sends);
  const cancel = async () => {
    if (cancelling === null) return;
    await call(pathOf('v1', 'channels', 'outbox', cancelling.id), { method: 'DELETE' });
    toast(t('The notification was cancelled'));
    outbox.refreshQuietly();
  };
  return (
    <Panel
      title={t('Outbox')}
      actions={
        sending.length > 0 &&
        mayUse('channels:send') && (
          <Button small icon="plus" onClick={() => setIsSending(true)}>
            {t('Send a notification')}
          </Button>
        )
      }
    >
      <List
        of={outbox}
        empty={t('Nothing was sent yet')}
        hint={t('Notifications appear here, also those that are only recorded.')}
      >
        {(rows) => <Notifications rows={rows} configs={configs} onCancel={setCancelling} />}
      </List>
      {isSending && <SendDialog configs={sending} onClose={() => setIsSending(false)} onSent={outbox.refreshQuietly} />}
      {cancelling && (
        <ConfirmDialog
          title={t('Cancel the notification to {phone}?', { phone: cancelling.phone })}
          action={t('Cancel it')}
          onConfirm={cancel}
          onClose={() => setCancelling(null)}
        >
          <p>{t('It is not sent again.')}</p>
        </ConfirmDialog>
      )}
    </Panel>
  );
}

function Notifications({
  rows,
  configs,
  onCancel,
}: Configs & { rows: readonly NotificationRecord[]; onCancel: (record: NotificationRecord) => void }) {
  return (
    <Table
      caption={t('Outbox')}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        {
          title: t('Template'),
          cell: ({ template_code, phone }) => (
            <>
              <span class="main">{template_code}</span>
              <span class="sub">{phone}</span>
            </>
          ),
        },
        {
          title: t('State'),
          cell: (record) => (
            <>
              <Status of={record.status} />
              {record.reason && <span class="sub">{record.reason}</span>}
              {record.uncertain && <span class="sub">{t('The provider may have sent it.')}</span>}
              {record.status === 'queued' && mayUse('channels:manage') && (
                <Button small onClick={() => onCancel(record)}>
                  {t('Cancel')}
                </Button>
              )}
            </>
          ),
        },
        { title: t('Channel'), wide: true, cell: (record) => nameOf(configs, record.channel_config_id) },
        {
          title: t('Requested'),
          wide: true,
          class: 'nowrap',
          cell: ({ requested_at }) => formatTime(requested_at),
        },
      ]}
    />
  );
}
