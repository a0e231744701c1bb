import { useEffect } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { formatBytes, formatNumber, formatPercent } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import { linkTo } from '../../lib/router.ts';
import type { Overview } from '../../types.ts';
import { Notice } from '../../ui/controls.tsx';
import { PageHeader, Panel, Tile } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { Installation } from './installation.tsx';

const REFRESH_MS = 10_000;

/** Page `/console` and `/console/overview`: the state of the organization, and for operators of the installation. */
export default function OverviewPage() {
  const overview = useResource('overview', (signal) => call<Overview>('/v1/overview', { signal }), [
    'queues',
    'providers',
  ]);
  const { refreshQuietly: refresh } = overview;
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && refresh(), REFRESH_MS);
    return () => clearInterval(timer);
  }, [refresh]);
  return (
    <div class="page">
      <PageHeader title={t('Overview')}>{t('What runs now, and what needs a person.')}</PageHeader>
      <Loaded of={overview}>
        {(shown) => (
          <>
            <AttentionList of={shown.attention} />
            <Tiles overview={shown} />
            <div class="columns">
              <Panel title={t('Jobs')} padded>
                <Counts
                  of={{ ...shown.jobs.live, ...shown.jobs.last_day }}
                  href={(status) => `${linkTo('jobs')}?status=${status}`}
                />
              </Panel>
              <Panel title={t('Documents')} padded>
                <Counts of={shown.documents.by_status} href={() => linkTo('documents')} />
              </Panel>
            </div>
            {shown.installation && <Installation load={shown.installation} />}
          </>
        )}
      </Loaded>
    </div>
  );
}

function AttentionList({ of }: { of: Overview['attention'] }) {
  if (of.length === 0) return <Notice tone="good" title={t('Nothing needs attention')} />;
  return (
    <ul class="stack tight" aria-label={t('Needs attention')}>
      {of.map(({ severity, name, message }) => (
        <li key={`${name} ${message}`} class={`notice ${severity === 'error' ? 'bad' : 'warn'}`}>
          <strong>{name}</strong>
          <span>{message}</span>
        </li>
      ))}
    </ul>
  );
}

function Tiles({ overview: { jobs, documents, buckets } }: { overview: Overview }) {
  const live = Object.values(jobs.live).reduce((sum, count) => sum + count, 0);
  const all = Object.values(documents.by_status).reduce((sum, count) => sum + count, 0);
  return (
    <div class="tiles">
      <Tile
        label={t('Documents')}
        value={formatNumber(all)}
        note={`${formatBytes(documents.bytes)} · ${t('{count|bucket|buckets}', { count: buckets })}`}
      />
      <Tile
        label={t('Jobs now')}
        value={formatNumber(live)}
        note={t('{count} finished a minute', { count: formatNumber(jobs.finished_per_minute, 1) })}
      />
      <Tile
        label={t('Failed in 24 hours')}
        value={jobs.failure_rate === null ? '–' : formatPercent(jobs.failure_rate, 1)}
        note={t('{count|job|jobs}', { count: jobs.last_day.failed ?? 0 })}
      />
      <Tile
        label={t('Found by words only')}
        value={formatNumber(documents.keyword_only)}
        note={t('until their model answers again')}
      />
    </div>
  );
}

function Counts({ of, href }: { of: Readonly<Record<string, number>>; href: (status: string) => string }) {
  const counts = Object.entries(of).filter(([, count]) => count > 0);
  if (counts.length === 0) return <p class="quiet">{t('None')}</p>;
  return (
    <ul class="stack tight">
      {counts.map(([status, count]) => (
        <li key={status} class="row spread">
          <a href={href(status)}>
            <Status of={status} />
          </a>
          <span class="number">{formatNumber(count)}</span>
        </li>
      ))}
    </ul>
  );
}
