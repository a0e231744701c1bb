import { useMemo } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { lastDays } from '../../lib/days.ts';
import { formatDuration, formatNumber, formatPercent } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import type { PageProps } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { LogSummary } from '../../types.ts';
import { PageHeader, Tile } from '../../ui/page.tsx';
import { QuerySelect } from '../../ui/query-select.tsx';
import { Loaded } from '../../ui/states.tsx';
import { LevelPanel } from './level-panel.tsx';
import { AskedPanel, SlowPanel } from './queries.tsx';
import { TrendPanel } from './trend.tsx';

const PERIODS = ['7', '30', '90'];

/** Page `/console/insight`: what people asked, and what had no answer. */
export default function InsightPage({ place }: PageProps) {
  const days = PERIODS.find((each) => each === place.query.get('days')) ?? '30';
  const summary = useResource(`insight ${days}`, (signal) =>
    call<LogSummary>('/v1/search/log/summary', { query: { days }, signal }),
  );
  const choice = (
    <QuerySelect
      label={t('Period')}
      parameter="days"
      value={days}
      options={PERIODS.map((each) => ({ value: each, label: t('Last {count} days', { count: Number(each) }) }))}
    />
  );
  return (
    <div class="page">
      <PageHeader title={t('Insight')} actions={choice}>
        {t('What was asked, what had no answer, and what took long.')}
      </PageHeader>
      <Loaded of={summary}>
        {(shown) => <Summary summary={shown} days={Number(days)} onChange={summary.refresh} />}
      </Loaded>
    </div>
  );
}

interface SummaryProps {
  readonly summary: LogSummary;
  readonly days: number;
  readonly onChange: () => void;
}

function Summary({ summary, days, onChange }: SummaryProps) {
  const { level, by_day: byDay, top, unanswered, slow } = summary;
  const shown = useMemo(() => lastDays(days), [days]);
  return (
    <>
      <Tiles summary={summary} />
      <TrendPanel days={shown} byDay={byDay} />
      {level.level === 'queries' && (
        <>
          <AskedPanel
            title={t('Without an answer')}
            empty={t('Every question was answered')}
            rows={unanswered}
            isOpen
          />
          <AskedPanel title={t('Asked most')} empty={t('Nothing was asked in this period')} rows={top} />
          <SlowPanel rows={slow} />
        </>
      )}
      <LevelPanel level={level} mayChange={mayUse('users:manage')} onChange={onChange} />
    </>
  );
}

/** Names of the kinds of callers. */
const ASKERS = {
  person: 'by people',
  key: 'by keys',
  client: 'by applications',
  messenger: 'by messengers',
  assistant: 'for answers',
} as const;

function Tiles({ summary: { by_day: byDay, askers, helpful, not_helpful: notHelpful } }: { summary: LogSummary }) {
  const total = (of: 'searches' | 'unanswered' | 'slow') => byDay.reduce((sum, day) => sum + day[of], 0);
  const searches = total('searches');
  const ms = byDay.reduce((sum, day) => sum + day.mean_ms * day.searches, 0);
  const kinds = askers.map(({ asked_by: kind, searches: n }) => `${formatNumber(n)} ${t(ASKERS[kind])}`);
  const rated = helpful + notHelpful;
  return (
    <div class="tiles">
      <Tile label={t('Searches')} value={formatNumber(searches)} note={kinds.join(' · ')} />
      <Tile
        label={t('Without an answer')}
        value={formatNumber(total('unanswered'))}
        note={searches > 0 && formatPercent(total('unanswered') / searches, 1)}
      />
      <Tile
        label={t('Mean duration')}
        value={searches === 0 ? '–' : formatDuration(ms / searches)}
        note={t('{count} took a second or longer', { count: total('slow') })}
      />
      <Tile
        label={t('Helpful')}
        value={rated === 0 ? '–' : formatPercent(helpful / rated)}
        note={t('{count|rating|ratings}', { count: rated })}
      />
    </div>
  );
}
