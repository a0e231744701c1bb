import { call } from '../../lib/api.ts';
import { formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import type { UsageByKey } from '../../types.ts';
import { Panel } from '../../ui/page.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { ExportButton } from './export-button.tsx';
import { periodOf } from './period.ts';

/** Usage per key and user; without the scope `keys:manage` only the caller's own. */
export function KeyUsage({ month }: { month: string }) {
  const keys = useResource(`usage keys ${month}`, (signal) =>
    call<UsageByKey>('/v1/usage/keys', { query: periodOf(month), signal }),
  );
  return (
    <Panel
      title={t('By key')}
      actions={
        <ExportButton
          name={`usage-keys-${month}`}
          columns={['actor', 'name', 'requests', 'tokens']}
          rows={(keys.data?.data ?? []).map(({ actor, name, requests, tokens }) => [actor, name, requests, tokens])}
        />
      }
    >
      <Loaded of={keys}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title={t('Nothing was used in this month')} />
          ) : (
            <Table
              caption={t('By key')}
              rows={data}
              keyOf={({ actor }) => actor}
              columns={[
                {
                  title: t('Key or person'),
                  cell: ({ actor, name }) => (
                    <>
                      <span class="main">{name ?? actor}</span>
                      {name !== null && <span class="sub">{actor}</span>}
                    </>
                  ),
                },
                { title: t('Requests'), numeric: true, wide: true, cell: ({ requests }) => formatNumber(requests) },
                { title: t('Tokens'), numeric: true, cell: ({ tokens }) => formatNumber(tokens) },
              ]}
            />
          )
        }
      </Loaded>
    </Panel>
  );
}
