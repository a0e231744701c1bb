import { useMemo } from 'preact/hooks';
import { formatDay, formatDuration, formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import type { LogSummary } from '../../types.ts';
import { DayChart, type DayValue } from '../../ui/chart.tsx';
import { Panel } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { ExportButton } from '../usage/export-button.tsx';

interface TrendProps {
  /** Days of the period, including those without searches. */
  readonly days: readonly string[];
  readonly byDay: LogSummary['by_day'];
}

/** Searches per day, and those without an answer. */
export function TrendPanel({ days, byDay }: TrendProps) {
  const values = useMemo<DayValue[]>(() => {
    const known = new Map(byDay.map((day) => [day.date, day]));
    return days.map((date) => ({
      date,
      value: known.get(date)?.searches ?? 0,
      part: known.get(date)?.unanswered ?? 0,
    }));
  }, [days, byDay]);
  if (byDay.length === 0) {
    return (
      <Panel>
        <Empty title={t('Nothing was asked in this period')} />
      </Panel>
    );
  }
  return (
    <Panel
      title={t('Searches by day')}
      actions={
        <ExportButton
          name="searches-by-day"
          columns={['day', 'searches', 'unanswered', 'slow', 'mean_ms']}
          rows={byDay.map((day) => [day.date, day.searches, day.unanswered, day.slow, day.mean_ms])}
        />
      }
      padded
    >
      <DayChart label={t('Searches by day')} partLabel={t('Without an answer')} days={values} />
      <details>
        <summary>{t('As a table')}</summary>
        <Table
          caption={t('Searches by day')}
          rows={byDay}
          keyOf={({ date }) => date}
          columns={[
            { title: t('Day'), class: 'nowrap', cell: ({ date }) => formatDay(date) },
            { title: t('Searches'), numeric: true, cell: ({ searches }) => formatNumber(searches) },
            { title: t('Without an answer'), numeric: true, cell: ({ unanswered }) => formatNumber(unanswered) },
            { title: t('Slow'), numeric: true, wide: true, cell: ({ slow }) => formatNumber(slow) },
            { title: t('Mean duration'), numeric: true, wide: true, cell: ({ mean_ms: ms }) => formatDuration(ms) },
          ]}
        />
      </details>
    </Panel>
  );
}
