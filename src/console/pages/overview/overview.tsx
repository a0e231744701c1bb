import { formatNumber } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { useOverview } from '../../lib/overview.ts';
import { linkTo } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import { PageHeader, Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { Activity } from './activity.tsx';
import { FirstSteps } from './first-steps.tsx';
import { OverviewTiles } from './tiles.tsx';
import { Waiting } from './waiting.tsx';

/** Page `/console` and `/console/overview`: figures of the organization, and what needs the user's attention. */
export default function OverviewPage() {
  const overview = useOverview();
  return (
    <div class="page">
      <PageHeader title={t('Overview')}>{t('Your documents and searches, and what waits for you.')}</PageHeader>
      <Loaded of={overview}>
        {(shown) => (
          <>
            {mayUse('buckets:manage') && mayUse('documents:write') && <FirstSteps documents={shown.documents} />}
            <Waiting overview={shown} />
            <WordsOnly count={shown.documents.words_only} />
            <OverviewTiles overview={shown} />
            <Activity overview={shown} />
            <div class="columns">
              <Panel title={t('Documents by state')} padded>
                <Counts of={shown.documents.by_status} href={() => linkTo('documents')} />
              </Panel>
              <Panel title={t('Jobs of the last 24 hours')} padded>
                <Counts
                  of={{ ...shown.jobs.live, ...shown.jobs.last_day }}
                  href={(status) => `${linkTo('jobs')}?status=${status}`}
                />
              </Panel>
            </div>
          </>
        )}
      </Loaded>
    </div>
  );
}

/** Number of documents whose vectors a local model is computing. No action is needed. */
function WordsOnly({ count }: { count: number }) {
  if (count === 0) return null;
  return (
    <p class="quiet">
      {t(
        '{count|document is found by words only so far; its|documents are found by words only so far; their} vectors are being made',
        { count },
      )}
    </p>
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
