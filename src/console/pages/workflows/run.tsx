import type { ComponentChildren } from 'preact';
import { call, pathOf } from '../../lib/api.ts';
import { formatTime } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import { linkTo, type PageProps } from '../../lib/router.ts';
import type { RunView } from '../../types.ts';
import { CodeBlock } from '../../ui/code.tsx';
import { Notice } from '../../ui/controls.tsx';
import { Facts, PageHeader, Panel } from '../../ui/page.tsx';
import { Reason } from '../../ui/reason.tsx';
import { Loaded } from '../../ui/states.tsx';
import { Status } from '../../ui/status.tsx';
import { BlockList } from './block-list.tsx';
import { RunGraph } from './run-graph.tsx';
import { WaitingRun } from './waiting-run.tsx';

/** Page `/console/workflows/{id}/runs/{run}`. */
export default function RunPage({ parameters }: PageProps) {
  const [workflow = '', id = ''] = parameters;
  const run = useResource(
    `run ${id}`,
    (signal) => call<RunView>(pathOf('v1', 'workflows', workflow, 'runs', id), { signal }),
    ['runs'],
  );
  return (
    <div class="page">
      <PageHeader
        title={t('Run')}
        crumbs={[
          { label: t('Workflows'), href: linkTo('workflows') },
          { label: t('Workflow'), href: linkTo('workflows', workflow) },
        ]}
      />
      <Loaded of={run}>{(shown) => <RunDetails run={shown} />}</Loaded>
    </div>
  );
}

function RunDetails({ run }: { run: RunView }) {
  return (
    <>
      {run.error && (
        <Notice tone="bad" title={t('Failed')}>
          <Reason of={{ error_message: run.error, sentence: sentenceOf(run) }} />
        </Notice>
      )}
      {run.status === 'needs_approval' && <WaitingRun run={run} />}
      <Panel title={t('Facts')} padded>
        <Facts
          of={[
            [t('State'), <Status key="state" of={run.status} />],
            [t('Mode'), translateName(run.mode)],
            [t('Version'), run.version],
            [t('By'), run.actor],
            [t('Started'), formatTime(run.started_at)],
            [t('Ended'), run.finished_at === null ? '–' : formatTime(run.finished_at)],
            [t('Id'), <code key="id">{run.run_id}</code>],
            ...(run.continues === null ? [] : [continuesFact(run.workflow_id, run.continues)]),
          ]}
        />
      </Panel>
      <Panel title={t('Blocks')} padded>
        <RunGraph run={run} />
        <BlockList blocks={run.blocks} />
      </Panel>
      <Panel title={t('Inputs and output')} padded>
        <CodeBlock
          code={JSON.stringify({ inputs: run.inputs, output: run.output }, null, 2)}
          label={t('Inputs and output')}
        />
      </Panel>
    </>
  );
}

/** Return why a run failed, for languages other than English. */
function sentenceOf({ blocks }: RunView): string {
  const failed = blocks.find(({ status }) => status === 'failed');
  if (failed === undefined) return t('The run ended before all its blocks were done.');
  return t('The block {id} failed.', { id: failed.id });
}

function continuesFact(workflow: string, id: string): readonly [string, ComponentChildren] {
  const link = (
    <a key="continues" href={linkTo('workflows', workflow, 'runs', id)}>
      {id}
    </a>
  );
  return [t('Continues'), link];
}
