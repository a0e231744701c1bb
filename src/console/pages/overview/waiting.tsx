import { formatAgo } from '../../lib/format.ts';
import { t } from '../../lib/i18n.ts';
import { linkTo } from '../../lib/router.ts';
import type { Overview } from '../../types.ts';
import { Notice } from '../../ui/controls.tsx';
import { Panel } from '../../ui/page.tsx';

/** Runs that the user may approve, and problems that need attention. */
export function Waiting({ overview: { waiting_runs: runs, attention } }: { overview: Overview }) {
  return (
    <>
      {attention.length > 0 && (
        <ul class="stack tight" aria-label={t('Needs attention')}>
          {attention.map((problem) => (
            <Problem key={`${problem.name} ${problem.message}`} of={problem} />
          ))}
        </ul>
      )}
      {runs.length > 0 && (
        <Panel title={t('Waiting for your approval')}>
          <ul class="link-list">
            {runs.map((run) => (
              <li key={run.run_id} class="row spread">
                <span class="grow">
                  <a class="main" href={linkTo('workflows', run.workflow_id, 'runs', run.run_id)}>
                    {run.workflow_name}
                  </a>
                  <span class="sub">{t('Started by {actor}', { actor: run.actor })}</span>
                </span>
                <span class="faint nowrap">{formatAgo(run.started_at)}</span>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {attention.length + runs.length === 0 && <Notice tone="good" title={t('Nothing waits for you')} />}
    </>
  );
}

type ProblemView = Overview['attention'][number];

/** Problem in the user's language, with a link to the page for solving it. */
function Problem({ of }: { of: ProblemView }) {
  const { severity, name, message, code, count = 0 } = of;
  return (
    <li class={`notice ${severity === 'error' ? 'bad' : 'warn'}`}>
      {code === 'failed_jobs' && (
        <a href={`${linkTo('jobs')}?status=failed`}>
          <strong>{t('{count|job failed|jobs failed} in the last 24 hours', { count })}</strong>
        </a>
      )}
      {code === 'keyword_only' && (
        <strong>
          {t('{count|document is|documents are} found by words only, until the model answers again', { count })}
        </strong>
      )}
      {code === undefined && (
        <>
          <strong>{name}</strong>
          <span>{message}</span>
        </>
      )}
    </li>
  );
}
