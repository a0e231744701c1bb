import { formatBytes, formatDuration, formatNumber, formatPercent } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import type { Overview } from '../../types.ts';
import { Badge } from '../../ui/controls.tsx';
import { Facts, Panel } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';

type Load = NonNullable<Overview['installation']>;

const msOf = (value: number | null) => (value === null ? '–' : formatDuration(value));
const shareOf = (value: number | null) => (value === null ? '–' : formatPercent(value, 1));

export function Installation({ load }: { load: Load }) {
  return (
    <>
      <Panel title={t('Queues')}>
        {load.queues.length === 0 ? (
          <Empty title={t('No job is waiting')} />
        ) : (
          <Table
            caption={t('Queues')}
            rows={load.queues}
            keyOf={({ kind, priority }) => `${kind} ${priority}`}
            columns={[
              { title: t('Kind'), class: 'main', cell: ({ kind }) => translateName(kind) },
              { title: t('Priority'), numeric: true, wide: true, cell: ({ priority }) => priority },
              { title: t('Waiting jobs'), numeric: true, cell: ({ queued }) => formatNumber(queued) },
              { title: t('In progress'), numeric: true, cell: ({ in_progress }) => formatNumber(in_progress) },
              {
                title: t('Oldest'),
                numeric: true,
                wide: true,
                cell: ({ oldest_seconds }) => msOf(oldest_seconds === null ? null : oldest_seconds * 1000),
              },
            ]}
          />
        )}
      </Panel>
      <Panel title={t('Workers')}>
        <Workers load={load} />
      </Panel>
      {load.providers.length > 0 && (
        <Panel title={t('Providers')}>
          <Providers load={load} />
        </Panel>
      )}
      <div class="columns">
        <Panel title={t('Requests')} padded>
          <Facts
            of={[
              [t('A second'), formatNumber(load.requests.per_second, 1)],
              [t('Faults'), shareOf(load.requests.fault_rate)],
              [t('Median time'), msOf(load.requests.p50_ms)],
              [t('Slowest 5 %'), msOf(load.requests.p95_ms)],
              [t('Texts a second'), formatNumber(load.requests.texts_per_second, 1)],
              [t('From the cache'), shareOf(load.requests.cache_hit_rate)],
            ]}
          />
        </Panel>
        <Panel title={t('Storage')} padded>
          <Storage load={load} />
        </Panel>
      </div>
    </>
  );
}

function Workers({ load }: { load: Load }) {
  if (load.workers.length === 0)
    return <Empty title={t('No worker is running')}>{t('Jobs wait until one starts.')}</Empty>;
  return (
    <Table
      caption={t('Workers')}
      rows={load.workers}
      keyOf={({ id }) => id}
      columns={[
        { title: t('Worker'), cell: ({ id }) => <code>{id}</code> },
        { title: t('Kind'), cell: ({ kind }) => translateName(kind ?? '–') },
        { title: t('Host'), wide: true, cell: ({ host, pid }) => `${host ?? '–'} · ${pid ?? '–'}` },
        { title: t('Jobs'), numeric: true, cell: ({ jobs }) => jobs },
        {
          title: t('Silent for'),
          numeric: true,
          wide: true,
          cell: ({ silent_seconds }) => msOf(silent_seconds === null ? null : silent_seconds * 1000),
        },
      ]}
    />
  );
}

const BREAKER_TONES = { closed: 'good', 'half-open': 'warn', open: 'bad' } as const;

function Providers({ load }: { load: Load }) {
  const nameOf = { closed: t('works'), 'half-open': t('is tried again'), open: t('fails') } as const;
  return (
    <Table
      caption={t('Providers')}
      rows={load.providers}
      keyOf={({ provider }) => provider}
      columns={[
        { title: t('Provider'), class: 'main', cell: ({ provider }) => provider },
        { title: t('State'), cell: ({ state }) => <Badge tone={BREAKER_TONES[state]}>{nameOf[state]}</Badge> },
        { title: t('Faults'), numeric: true, cell: ({ error_rate }) => shareOf(error_rate) },
        { title: t('Median time'), numeric: true, wide: true, cell: ({ p50_ms }) => msOf(p50_ms) },
        { title: t('Slowest 5 %'), numeric: true, wide: true, cell: ({ p95_ms }) => msOf(p95_ms) },
        {
          title: t('Waiting texts'),
          numeric: true,
          wide: true,
          cell: ({ queued_texts }) => formatNumber(queued_texts),
        },
      ]}
    />
  );
}

function Storage({ load: { storage } }: { load: Load }) {
  const { disk_free_bytes: free, disk_total_bytes: total, database_bytes: database } = storage;
  return (
    <div class="stack">
      <Facts
        of={[
          ...Object.entries(storage.parts).map(
            ([part, state]) =>
              [
                translateName(part),
                <Badge key={part} tone={state === 'ok' ? 'good' : 'bad'}>
                  {state}
                </Badge>,
              ] as const,
          ),
          [t('Database'), formatBytes(database)],
          [t('Free on the disk'), t('{free} of {total}', { free: formatBytes(free), total: formatBytes(total) })],
        ]}
      />
      <progress value={total - free} max={Math.max(total, 1)} aria-label={t('Used part of the disk')} />
    </div>
  );
}
