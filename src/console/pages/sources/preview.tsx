import { formatBytes, formatNumber, formatTime } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import type { SourcePreview } from '../../types.ts';
import { Notice } from '../../ui/controls.tsx';
import { Facts } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';

/** Preview of a source: its size and cost, what would change, and its first entries. */
export function Preview({ of: preview }: { of: SourcePreview }) {
  const { is_complete: isComplete, changes, cost_usd: cost } = preview;
  const entries = formatNumber(preview.entries_count);
  return (
    <>
      {!isComplete && (
        <Notice tone="info" title={t('There is more')}>
          {t('The source was not listed to its end in 15 seconds. The figures are those of the listed part.')}
        </Notice>
      )}
      <Facts
        of={[
          [t('Entries'), isComplete ? entries : t('more than {count}', { count: entries })],
          [t('Size'), formatBytes(preview.size_bytes)],
          [t('Chunks, roughly'), formatNumber(preview.chunks)],
          [t('Tokens, roughly'), formatNumber(preview.tokens)],
          [t('Price, roughly'), cost === null ? '–' : `$${formatNumber(cost, 2)}`],
          ...(changes === null
            ? []
            : ([
                [t('Would be added'), formatNumber(changes.added)],
                [t('Would be read again'), formatNumber(changes.changed)],
                [t('Would be removed'), formatNumber(changes.removed)],
              ] as const)),
        ]}
      />
      {preview.entries.length === 0 ? (
        <Empty title={t('The source shows no entries')}>{t('Check the place and the patterns.')}</Empty>
      ) : (
        <Table
          caption={t('First entries')}
          dense
          rows={preview.entries}
          keyOf={({ key }) => key}
          columns={[
            { title: t('First entries'), cell: ({ key }) => key },
            { title: t('Size'), numeric: true, cell: ({ size_bytes: size }) => formatBytes(size) },
            {
              title: t('Time'),
              wide: true,
              class: 'nowrap',
              cell: ({ event_time: time }) => (time === null ? '–' : formatTime(time)),
            },
          ]}
        />
      )}
      {preview.faults_count > 0 && (
        <Notice tone="warn" title={t('{count|entry cannot|entries cannot} be read', { count: preview.faults_count })}>
          <ul>
            {preview.faults.map(({ key, fault }) => (
              <li key={key}>
                {key}: {fault}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </>
  );
}
