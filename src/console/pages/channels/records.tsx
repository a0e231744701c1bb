import { useEffect } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { formatDuration, formatTime } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { type Page, usePages } from '../../lib/resource.ts';
import type { ChannelView, DeliveryView, NotificationRecord } from '../../types.ts';
import { Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { MoreButton, Table } from '../../ui/table.tsx';

const PAGE_ROWS = 50;
const REFRESH_MS = 10_000;

type Configs = { configs: readonly ChannelView[] };
const nameOf = (configs: readonly ChannelView[], id: string) => configs.find((config) => config.id === id)?.name ?? id;

/** Load a list again from time to time: channels have no events. */
function useRecords<T>(path: string) {
  const records = usePages<T>(path, (cursor, signal) =>
    call<Page<T>>(path, { query: { cursor, limit: PAGE_ROWS }, signal }),
  );
  const { refreshQuietly: refresh } = records;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  return records;
}

/** Received messages, with their replies while these are kept. */
export function Deliveries({ configs }: Configs) {
  const deliveries = useRecords<DeliveryView>('/v1/channels/deliveries');
  return (
    <Panel title={t('Deliveries')}>
      <Loaded of={deliveries}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={t('No messages were received')}>
              {t('What people write is not kept; the replies are kept for ten minutes.')}
            </Empty>
          ) : (
            <>
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
              <MoreButton of={deliveries} />
            </>
          )
        }
      </Loaded>
    </Panel>
  );
}

/** Sent, recorded and failed notifications. */
export function Outbox({ configs }: Configs) {
  const outbox = useRecords<NotificationRecord>('/v1/channels/outbox');
  return (
    <Panel title={t('Outbox')}>
      <Loaded of={outbox}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title={t('Nothing was sent yet')}>
              {t('Notifications appear here, also those that are only recorded.')}
            </Empty>
          ) : (
            <>
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
                    cell: ({ status, reason }) => (
                      <>
                        <Status of={status} />
                        {reason && <span class="sub">{reason}</span>}
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
              <MoreButton of={outbox} />
            </>
          )
        }
      </Loaded>
    </Panel>
  );
}
