import { useState } from 'preact/hooks';
import { call, pathOf } from '../../lib/api.ts';
import { formatAgo } from '../../lib/format.ts';
import { t, translateName } from '../../lib/i18n.ts';
import { useResource } from '../../lib/resource.ts';
import { linkTo, navigate } from '../../lib/router.ts';
import { mayUse } from '../../lib/session.ts';
import type { BlockResult, ContinuingRun, RunReply, RunView, WorkflowDetail } from '../../types.ts';
import { Button, Notice } from '../../ui/controls.tsx';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { Panel } from '../../ui/page.tsx';
import { Loaded } from '../../ui/states.tsx';
import { toast } from '../../ui/toast.tsx';
import { ApprovalFields, type Approvals } from './approval.tsx';
import { WouldDo } from './would-do.tsx';

/** Changes of a run that wait for approval, shown to users who may decide on them. */
export function WaitingRun({ run }: { run: RunView }) {
  const blocks = run.blocks.filter(({ status }) => status === 'needs_approval');
  return (
    <Panel title={t('Waits for an approval')} padded>
      <p>{t('This run has not made the changes below. They are made only if somebody approves them.')}</p>
      <p class="quiet">
        {t('Started by {actor}', { actor: run.actor })} · {formatAgo(run.started_at)}
      </p>
      {run.continued_by === null ? (
        <Decide run={run} blocks={blocks} />
      ) : (
        <Continued workflow={run.workflow_id} by={run.continued_by} />
      )}
    </Panel>
  );
}

function Continued({ workflow, by: { run_id, actor, status } }: { workflow: string; by: ContinuingRun }) {
  const title = t('{actor} has decided, and the run went on: {state}', { actor, state: translateName(status) });
  return (
    <Notice tone="info" title={title}>
      {mayUse('workflows:approve') && <a href={linkTo('workflows', workflow, 'runs', run_id)}>{t('Show that run')}</a>}
    </Notice>
  );
}

interface WaitingBlocks {
  readonly run: RunView;
  readonly blocks: readonly BlockResult[];
}

function Decide({ run, blocks }: WaitingBlocks) {
  const state = useResource(`workflow of ${run.run_id}`, (signal) =>
    call<WorkflowDetail>(pathOf('v1', 'workflows', run.workflow_id), { signal }),
  );
  return (
    <Loaded of={state}>
      {(workflow) => {
        const obstacle = obstacleOf(run, workflow);
        if (obstacle === null) return <DecisionForm run={run} blocks={blocks} />;
        return (
          <>
            <Notice tone="warn">{obstacle}</Notice>
            <Changes blocks={blocks} />
          </>
        );
      }}
    </Loaded>
  );
}

/** Return why the caller can't decide on the changes here, or null. */
function obstacleOf(run: RunView, workflow: WorkflowDetail): string | null {
  if (!mayUse('workflows:approve') || !mayUse('workflows:run'))
    return t('Somebody with the scopes workflows:run and workflows:approve must approve these changes.');
  if (workflow.published_version !== run.version)
    return t('Another version was published since. Run it on the page of the workflow, and approve its changes there.');
  return null;
}

function Changes({ blocks }: { blocks: readonly BlockResult[] }) {
  return (
    <ul class="stack">
      {blocks.map((block) => (
        <li key={block.id} class="stack tight">
          <strong>{`${block.id} · ${translateName(block.type)}`}</strong>
          <WouldDo block={block} />
        </li>
      ))}
    </ul>
  );
}

function DecisionForm({ run, blocks }: WaitingBlocks) {
  const [chosen, setChosen] = useState<Approvals>({});
  const [asks, setAsks] = useState<'approve' | 'decline' | null>(null);
  const ids = blocks.map(({ id }) => id).filter((id) => chosen[id] === true);
  const decide = async () => {
    const json = { approvals: Object.fromEntries(ids.map((id) => [id, asks === 'approve'])) };
    const path = pathOf('v1', 'workflows', run.workflow_id, 'runs', run.run_id, 'approve');
    const reply = await call<RunReply>(path, { method: 'POST', json });
    toast(t('The run went on: {state}', { state: translateName(reply.status) }));
    if (reply.run_id !== null) navigate(linkTo('workflows', run.workflow_id, 'runs', reply.run_id));
  };
  return (
    <>
      <ApprovalFields blocks={blocks} approvals={chosen} onApprovals={setChosen}>
        <Button look="danger" disabled={ids.length === 0} onClick={() => setAsks('approve')}>
          {t('Approve and continue')}
        </Button>
        <Button disabled={ids.length === 0} onClick={() => setAsks('decline')}>
          {t('Decline')}
        </Button>
      </ApprovalFields>
      {asks === 'approve' && (
        <ConfirmDialog
          title={t('Approve {blocks}?', { blocks: ids.join(', ') })}
          action={t('Approve and continue')}
          onConfirm={decide}
          onClose={() => setAsks(null)}
        >
          <p>
            {t(
              'The run goes on from here with your rights, and makes what is approved with the values shown. What it has done is not done again.',
            )}
          </p>
        </ConfirmDialog>
      )}
      {asks === 'decline' && (
        <ConfirmDialog
          title={t('Decline {blocks}?', { blocks: ids.join(', ') })}
          action={t('Decline')}
          onConfirm={decide}
          onClose={() => setAsks(null)}
        >
          <p>{t('The run goes on without what is declined. It cannot be approved later.')}</p>
        </ConfirmDialog>
      )}
    </>
  );
}
