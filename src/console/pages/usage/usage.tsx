import { useMemo } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { daysBetween } from '../../lib/days.ts';
import { formatDay, formatNumber, formatPercent } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import type { PageProps } from '../../lib/router.ts';
import type { UsageSummary } from '../../types.ts';
import { DayChart, type DayValue } from '../../ui/chart.tsx';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { QuerySelect } from '../../ui/query-select.tsx';
import { Empty, Loaded } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { BucketUsage } from './bucket-usage.tsx';
import { ExportButton } from './export-button.tsx';
import { KeyUsage } from './key-usage.tsx';
import { periodOf } from './period.ts';

const MONTHS_OFFERED = 12;

function recentMonths(now = new Date()): string[] {
  return Array.from({ length: MONTHS_OFFERED }, (_, back) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back, 1)).toISOString().slice(0, 7),
  );
}

/** Page `/console/usage`: the usage of the organization in a month. */
export default function UsagePage({ place }: PageProps) {
  const months = recentMonths();
  const month = months.find((each) => each === place.query.get('month')) ?? months[0] ?? '';
  const usage = useResource(`usage ${month}`, (signal) =>
    call<UsageSummary>('/v1/usage/summary', { query: periodOf(month), signal }),
  );
  const choice = (
    <QuerySelect
      label={t('Month')}
      parameter="month"
      value={month}
      options={months.map((each) => ({ value: each, label: each }))}
    />
  );
  return (
    <div class="page">
      <PageHeader title={t('Usage')} actions={choice}>
        {t('Requests that succeeded, by day, model, axis, key and bucket.')}
      </PageHeader>
      <Loaded of={usage}>{(summary) => <Summary usage={summary} month={month} />}</Loaded>
    </div>
  );
}

function Summary({ usage, month }: { usage: UsageSummary; month: string }) {
  return (
    <>
      <Quotas usage={usage} />
      {usage.by_day.length === 0 ? (
        <Panel>
          <Empty title={t('Nothing was used in this month')}>
            {t('Embedding and searches count from the first request.')}
          </Empty>
        </Panel>
      ) : (
        <>
          <Days usage={usage} month={month} />
          <Models usage={usage} month={month} />
          <KeyUsage month={month} />
        </>
      )}
      <BucketUsage month={month} />
    </>
  );
}

function Quotas({ usage }: { usage: UsageSummary }) {
  return (
    <div class="tiles">
      {Object.entries(usage.axes).map(([axis, { requests, texts, images, limit, remaining, tokens }]) => {
        const used = axis === 'embed_image' ? images : texts;
        return (
          <div class="tile" key={axis}>
            <span class="faint">{translateName(axis)}</span>
            <span class="value">{formatNumber(used)}</span>
            <span class="faint">
              {t('{requests|request|requests}, {tokens|token|tokens}', {
                requests,
                tokens,
              })}
            </span>
            {limit !== null && remaining !== null ? (
              <>
                <progress
                  value={limit - remaining}
                  max={Math.max(limit, 1)}
                  aria-label={t('Share of the quota of {axis}', { axis: translateName(axis) })}
                />
                <span class="faint">
                  {t('{remaining} of {limit} left ({share})', {
                    remaining: formatNumber(remaining),
                    limit: formatNumber(limit),
                    share: formatPercent(limit === 0 ? 0 : remaining / limit),
                  })}
                </span>
              </>
            ) : (
              <span class="faint">{t('No limit')}</span>
            )}
          </div>
        );
      })}
    </div>
  );
}

interface PartProps {
  readonly usage: UsageSummary;
  readonly month: string;
}

function Days({ usage, month }: PartProps) {
  const days = useMemo<DayValue[]>(() => everyDay(usage), [usage]);
  return (
    <Panel
      title={t('Tokens by day')}
      actions={
        <ExportButton
          name={`usage-days-${month}`}
          columns={['day', 'requests', 'tokens']}
          rows={usage.by_day.map(({ date, requests, tokens }) => [date, requests, tokens])}
        />
      }
      padded
    >
      <DayChart label={t('Tokens by day')} days={days} />
      <details>
        <summary>{t('As a table')}</summary>
        <Table
          caption={t('Tokens by day')}
          rows={usage.by_day}
          keyOf={({ date }) => date}
          columns={[
            { title: t('Day'), class: 'nowrap', cell: ({ date }) => formatDay(date) },
            { title: t('Requests'), numeric: true, cell: ({ requests }) => formatNumber(requests) },
            { title: t('Tokens'), numeric: true, cell: ({ tokens }) => formatNumber(tokens) },
          ]}
        />
      </details>
    </Panel>
  );
}

/** List the days of the period up to now, including those without usage. */
function everyDay({ period, by_day }: UsageSummary): DayValue[] {
  const tokens = new Map(by_day.map((day) => [day.date, day.tokens]));
  return daysBetween(Date.parse(period.start), Math.min(Date.parse(period.end), Date.now())).map((date) => ({
    date,
    value: tokens.get(date) ?? 0,
  }));
}

function Models({ usage, month }: PartProps) {
  const total = usage.by_model.reduce((sum, { tokens }) => sum + tokens, 0);
  return (
    <Panel
      title={t('By model')}
      actions={
        <ExportButton
          name={`usage-models-${month}`}
          columns={['model', 'requests', 'tokens']}
          rows={usage.by_model.map(({ model, requests, tokens }) => [model, requests, tokens])}
        />
      }
    >
      <Table
        caption={t('By model')}
        rows={usage.by_model}
        keyOf={({ model }) => model}
        columns={[
          { title: t('Model'), class: 'main', cell: ({ model }) => model },
          { title: t('Requests'), numeric: true, wide: true, cell: ({ requests }) => formatNumber(requests) },
          { title: t('Tokens'), numeric: true, cell: ({ tokens }) => formatNumber(tokens) },
          {
            title: t('Share'),
            numeric: true,
            cell: ({ tokens }) => formatPercent(total === 0 ? 0 : tokens / total, 1),
          },
        ]}
      />
    </Panel>
  );
}
