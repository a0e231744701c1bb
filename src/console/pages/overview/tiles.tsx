import { formatBytes, formatNumber, formatPercent } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import type { Overview } from '../../types.ts';
import { Tile } from '../../ui/page.tsx';

const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0);

/** Figures of the organization: documents, searches, unanswered searches and storage. */
export function OverviewTiles({ overview: { documents, searches, buckets } }: { overview: Overview }) {
  const all = sum(Object.values(documents.by_status));
  const added = sum(documents.added.map(({ documents: count }) => count));
  const asked = sum(searches.map((day) => day.searches));
  const unanswered = sum(searches.map((day) => day.unanswered));
  return (
    <div class="tiles">
      <Tile
        label={t('Documents')}
        value={formatNumber(all)}
        note={t('{count} added in 30 days', { count: formatNumber(added) })}
      />
      <Tile label={t('Searches')} value={formatNumber(asked)} note={t('in 30 days')} />
      <Tile
        label={t('Answers not found')}
        value={formatNumber(unanswered)}
        note={
          asked === 0 ? t('in 30 days') : t('{share} of the searches', { share: formatPercent(unanswered / asked) })
        }
      />
      <Tile
        label={t('Storage')}
        value={formatBytes(documents.bytes)}
        note={t('{count|bucket|buckets}', { count: buckets })}
      />
    </div>
  );
}
