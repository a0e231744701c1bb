import { useMemo } from 'preact/hooks';
import { lastDays } from '../../lib/days.ts';
import { formatDay, formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import type { Overview } from '../../types.ts';
import { DayChart, type DayValue } from '../../ui/chart.tsx';
import { Panel } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';

const DAYS = 30;

/** Documents and searches by day, as charts and as tables. */
export function Activity({ overview: { documents, searches } }: { overview: Overview }) {
  const added = useMemo(() => {
    const counts = new Map(documents.added.map((day) => [day.date, day.documents]));
    return lastDays(DAYS).map((date) => ({ date, value: counts.get(date) ?? 0 }));
  }, [documents.added]);
  const asked = useMemo(() => {
    const counts = new Map(searches.map((day) => [day.date, day]));
    return lastDays(DAYS).map((date) => ({
      date,
      value: counts.get(date)?.searches ?? 0,
      part: counts.get(date)?.unanswered ?? 0,
    }));
  }, [searches]);
  return (
    <div class="columns">
      <Chart title={t('Documents added by day')} days={added} valueLabel={t('Documents')} />
      <Chart title={t('Searches by day')} days={asked} valueLabel={t('Searches')} partLabel={t('Answers not found')} />
    </div>
  );
}

interface ChartProps {
  readonly title: string;
  readonly days: readonly DayValue[];
  readonly valueLabel: string;
  readonly partLabel?: string;
}

function Chart({ title, days, valueLabel, partLabel }: ChartProps) {
  const used = days.filter(({ value }) => value > 0);
  return (
    <Panel title={title} padded>
      {used.length === 0 ? (
        <p class="quiet">{t('None in the last 30 days.')}</p>
      ) : (
        <>
          <DayChart label={title} days={days} {...(partLabel === undefined ? {} : { partLabel })} />
          {partLabel !== undefined && (
            <p class="chart-key faint">
              <span class="chart-key-part" aria-hidden="true" /> {partLabel}
            </p>
          )}
          <details>
            <summary>{t('As a table')}</summary>
            <Table
              caption={title}
              rows={used}
              keyOf={({ date }) => date}
              columns={[
                { title: t('Day'), class: 'nowrap', cell: ({ date }) => formatDay(date) },
                { title: valueLabel, numeric: true, cell: ({ value }) => formatNumber(value) },
                ...(partLabel === undefined
                  ? []
                  : [{ title: partLabel, numeric: true, cell: ({ part }: DayValue) => formatNumber(part ?? 0) }]),
              ]}
            />
          </details>
        </>
      )}
    </Panel>
  );
}
